/* Fuzz target: for any problem and schedule, the results of the streaming engine equal those of the naive search.
 *
 * The bytes answer the same questions as the seed of a random test (support/dice.h). So every input is a valid problem,
 * and no byte is wasted on syntax. A difference, a breach of the domain's contract or a leak aborts. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz_target.h"
#include "support/problem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    dice d = dice_from_bytes(data, size);
    problem_group group = (problem_group)dice_range(&d, 0, 3);
    problem p;
    schedule s;
    engine_record record;
    char message[600], description[2000];
    schedule_draw(&s, group, &d);
    problem_draw(&p, group, &d);
    problem_solve(&p);
    engine_run(&p, &s, NULL, &record);
    if (problem_compare(&p, &s, &record, message, sizeof message)) {
        problem_describe(&p, &s, description, sizeof description);
        fprintf(stderr, "%s\n%s\n", message, description);
        abort();
    }
    engine_record_clear(&record);
    problem_clear(&p);
    return 0;
}
