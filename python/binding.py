"""Write the C source of rill._native: librill's public functions for Python, by cffi in API mode.

Declarations come from the preprocessed rill/rill.h, without system headers, functions with a va_list, and inline functions.
HOOKS are Python functions that librill calls. binding.h and binding.c have loops that would be slow in Python.

    usage: binding.py CC INCLUDE_FOLDER BINDING_H BINDING_C OUTPUT.c
"""

import pathlib
import re
import subprocess
import sys
import tempfile

from cffi import FFI

# Functions that librill calls: one for each kind of callback, shared by all Python objects (hooks.py, domain.py, workers.py).
HOOKS = """
static const char *const RILL_VERSION_STRING;
extern "Python" {
    rill_status rillpy_apply(void *self, rill_candidates *candidates);
    rill_status rillpy_score(void *self, const rill_scorer_rows *rows, rill_modifiers *modifiers);
    rill_status rillpy_choose(void *self, const rill_sched_view *view, int32_t *order, int32_t *count);
    rill_status rillpy_refill(void *self, const rill_sched_view *view, int32_t *admit);
    void rillpy_trace(void *self, const rill_trace_event *event);
    void rillpy_log(void *self, rill_log_level level, const char *message);
    rill_status rillpy_read(void *self, int may_block, rill_request *request);
    rill_status rillpy_write(void *self, const rill_result *result);
    rill_status rillpy_open(const rill_domain *table, rill_context *ctx, const rill_open_options *options, void **self,
                            rill_domain_info *info);
    rill_status rillpy_reserve(void *self, int32_t nodes, int32_t slots);
    rill_status rillpy_encode(void *self, int32_t m, rill_input *inputs);
    rill_status rillpy_step(void *self, const rill_rows *rows);
    rill_status rillpy_choices(void *self, const rill_rows *rows, const rill_score_request *request, rill_score_result *out);
    rill_status rillpy_finalize(void *self, const rill_hypothesis *hypothesis, rill_text *out);
    void rillpy_drop(void *self, int32_t slot);
    void rillpy_free(void *self, int32_t n, const int32_t *nodes);
    void rillpy_close(void *self);
    rill_status rillpy_action_name(void *self, int32_t action, rill_text *out);
    int32_t rillpy_find_action(void *self, const char *text, size_t length);
    rill_status rillpy_tokenize(void *self, rill_context *ctx, const char *text, size_t length, int32_t *action, int32_t room,
                                int32_t *n);
}
"""

SYSTEM_HEADERS = ("stdarg.h", "stddef.h", "stdint.h")


def preprocess(compiler: list[str], include: str, text: str) -> str:
    """Preprocess `text` with empty system headers."""
    with tempfile.TemporaryDirectory() as folder:
        for name in SYSTEM_HEADERS:
            pathlib.Path(folder, name).write_text("")
        command = [*compiler, "-E", "-P", "-nostdinc", "-I", folder, "-I", include, "-D__attribute__(x)=", "-xc", "-"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def without_bodies(text: str) -> str:
    """Remove inline functions with their bodies."""
    kept, at = [], 0
    for begin in re.finditer(r"static inline\b", text):
        if begin.start() < at:
            continue
        kept.append(text[at : begin.start()])
        depth, at = 0, text.index("{", begin.start())
        while True:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
    return "".join([*kept, text[at:]])


def main() -> None:
    compiler, include, header, bodies, output = sys.argv[1].split(), *sys.argv[2:]
    own = pathlib.Path(header).read_text()
    declared = without_bodies(preprocess(compiler, include, own))
    declared = re.sub(r"[^;{}]*\bva_list\b[^;]*;", "", declared)  # cffi cannot call functions with a va_list
    ffi = FFI()
    ffi.cdef(declared)
    ffi.cdef(HOOKS)
    ffi.set_source("rill._native", own + pathlib.Path(bodies).read_text(), py_limited_api=True)
    ffi.emit_c_code(output)


main()
