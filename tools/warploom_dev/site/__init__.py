"""The site of the pages: ``make docs`` builds it with MkDocs, `hook` fits the pages to it."""
