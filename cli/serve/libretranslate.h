/* The part of LibreTranslate's API that its clients need to translate: POST /translate and GET /languages.
 *
 * A model serves a pair of languages where its name says so: "de-en" translates "de" into "en". Where no model has a pair, two that have
 * a language in common do it one after the other. There is nothing that detects languages: source "auto" is answered where one model
 * alone writes the target. Source: libretranslate.com/docs, version 1.6. */
#ifndef CLI_SERVE_LIBRETRANSLATE_H
#define CLI_SERVE_LIBRETRANSLATE_H

#include "api.h"

api_answer libre_begin_translate(api *a, api_request *request);
api_answer libre_end_translate(api *a, api_request *request);
/* An error as these clients look for it: {"error": TEXT}. */
api_answer libre_error(api_answer refused);
api_answer libre_languages(api *a, api_request *request);

#endif
