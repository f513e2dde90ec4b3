/* A parser with random weights for each case that requests one. To be included by a test's only source file, after
 * helpers.h. */
#pragma once

#include "domain_driver.h"
#include "random_parser.h"
#include "shiftreduce.h"

static const rill_domain *const domain = &rill_shiftreduce_domain;

static rill_status open_at(rill_context *ctx, const char *path, int threads, const char *form, int tokenized,
                           started *out, rill_domain_info *info)
{
    const rill_pair format = {"input-format", form};
    rill_open_options options = {.struct_size = sizeof options,
                                 .path = path,
                                 .threads = threads,
                                 .tokenized = tokenized,
                                 .values = &format,
                                 .n_values = form != NULL};
    return start_model(ctx, domain, &options, out, info);
}

typedef struct fixture {
    failing_allocator memory;
    rill_context *ctx;
    char *folder;
    started model;
    void *self;
    rill_domain_info info;
} fixture;

static void open_small(fixture *f, const char *form, int tokenized)
{
    f->ctx = failing_allocator_context(&f->memory);
    f->folder = folder_make();
    parser_write_model(f->folder, &SMALL_PARSER);
    assert_ok(f->ctx, open_at(f->ctx, f->folder, 1, form, tokenized, &f->model, &f->info));
    f->self = f->model.self;
    assert_ok(f->ctx, domain->reserve(f->self, 64, 8));
}

static void close_small(fixture *f)
{
    stop_model(domain, &f->model);
    folder_remove(f->folder);
    failing_allocator_finish(&f->memory, f->ctx);
}
