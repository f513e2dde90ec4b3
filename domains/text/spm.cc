// SentencePiece behind C. Invariant: no exception leaves a function of this file.
#include "segmenters.h"

#include "rill/file.h"

#include <exception>
#include <memory>
#include <sentencepiece_processor.h>
#include <string>
#include <vector>

struct rill_spm {
    sentencepiece::SentencePieceProcessor processor;
};

// How a failure is reported: its status, and the text before the library's message.
struct failure {
    rill_context *ctx;
    rill_status status;
    const char *path, *what;

    rill_status tell(const char *why) const
    {
        return rill_fail(ctx, status, "%s%s: %s", path, what, why);
    }
};

// Run work(), which returns what segmenters.h promises, and turn exceptions into failures.
template <typename Work> static rill_status guarded(const failure &as, Work work)
{
    try {
        return work();
    } catch (const std::exception &e) {
        return as.tell(e.what());
    } catch (...) {
        return as.tell("unknown exception");
    }
}

rill_status rill_spm_open(rill_spm **out, rill_context *ctx, const char *path)
{
    const failure as{ctx, RILL_ERR_FORMAT, path, ": not a SentencePiece model"};
    rill_text bytes{};
    bytes.ctx = ctx;
    *out = nullptr;
    rill_status result = rill_file_read(&bytes, path, RILL_FILE_TEXT_MAX);
    if (result == RILL_OK)
        result = guarded(as, [&] {
            std::unique_ptr<rill_spm> spm(new rill_spm);
            auto status = spm->processor.LoadFromSerializedProto({bytes.data, bytes.length});
            if (!status.ok()) return as.tell(status.error_message());
            *out = spm.release();
            return RILL_OK;
        });
    rill_text_clear(&bytes);
    return result;
}

void rill_spm_close(rill_spm *spm)
{
    delete spm;
}

int32_t rill_spm_count(const rill_spm *spm)
{
    return spm->processor.GetPieceSize();
}

const char *rill_spm_piece(const rill_spm *spm, int32_t i, size_t *length)
{
    const std::string &piece = spm->processor.IdToPiece(i);
    *length = piece.size();
    return piece.c_str();
}

rill_status rill_spm_encode(const rill_spm *spm, rill_context *ctx, const char *text, size_t length, rill_word_fn fn,
                            void *user)
{
    const failure as{ctx, RILL_ERR_INPUT, "", "SentencePiece"};
    return guarded(as, [&] {
        std::vector<std::string> pieces;
        auto status = spm->processor.Encode({text, length}, &pieces);
        if (!status.ok()) return as.tell(status.error_message());
        rill_status result = RILL_OK;
        for (size_t i = 0; result == RILL_OK && i < pieces.size(); i++)
            result = fn(user, pieces[i].data(), pieces[i].size());
        return result;
    });
}

rill_status rill_spm_decode(const rill_spm *spm, size_t n, const char *const *piece, const size_t *length,
                            rill_text *out)
{
    const failure as{out->ctx, RILL_ERR_FORMAT, "", "SentencePiece"};
    return guarded(as, [&] {
        std::vector<std::string> pieces;
        std::string text;
        for (size_t i = 0; i < n; i++) pieces.emplace_back(piece[i], length[i]);
        auto status = spm->processor.Decode(pieces, &text);
        return status.ok() ? rill_text_append(out, text.data(), text.size()) : as.tell(status.error_message());
    });
}
