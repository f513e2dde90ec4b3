/* Fuzz target: signatures of native functions.
 *
 * For any bytes: no crash. An error has a message and a column within the text or right after it. An accepted signature
 * has at most 32 arguments, and reads the same after it is written and read again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "native/signature.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    signature s, again;
    signature_error error = {0};
    char text[SIGNATURE_TEXT];
    if (signature_parse((const char *)data, size, &s, &error) != 0) {
        require(error.column >= 1 && error.column <= size + 1);
        require(error.message[0] != '\0' && memchr(error.message, '\0', sizeof error.message) != NULL);
        return 0;
    }
    require(s.n >= 0 && s.n <= SIGNATURE_MAX_ARGUMENTS);
    signature_write(&s, text, sizeof text);
    require(signature_parse(text, strlen(text), &again, &error) == 0);
    require(memcmp(&s, &again, sizeof s) == 0);
    return 0;
}
