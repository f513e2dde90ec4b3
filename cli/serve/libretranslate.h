/* The part of LibreTranslate's API that its clients need for translation: POST /translate and GET /languages.
 *
 * A model serves the language pair in its name: "de-en" translates "de" to "en". Without a model for a pair, two models are chained
 * through a common language. Languages are not detected: source "auto" works only if a single model writes the target language.
 * Source: libretranslate.com/docs, version 1.6. */
#ifndef CLI_SERVE_LIBRETRANSLATE_H
#define CLI_SERVE_LIBRETRANSLATE_H

#include "api.h"

api_answer libre_begin_translate(api *a, api_request *request);
api_answer libre_end_translate(api *a, api_request *request);
/* Convert an error to LibreTranslate's form, {"error": TEXT}. */
api_answer libre_error(api_answer refused);
api_answer libre_languages(api *a, api_request *request);

#endif
