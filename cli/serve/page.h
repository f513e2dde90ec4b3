/* The web page at /: page.html, its script and the charts of cli/view/ in one document without external resources. */
#ifndef CLI_SERVE_PAGE_H
#define CLI_SERVE_PAGE_H

char *page_text(void); /* freed by the caller; NULL: out of memory */

#endif
