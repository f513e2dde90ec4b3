/* The page at /: page.html, its script and the pictures of cli/view/, in one document that needs nothing else. */
#ifndef CLI_SERVE_PAGE_H
#define CLI_SERVE_PAGE_H

char *page_text(void); /* the caller's to free; NULL: out of memory */

#endif
