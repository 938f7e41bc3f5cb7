"""Deferred submission: a loop's CUDA calls are cached, sent in one message, and run by a back end.

Method: *A GPU virtualization optimization method based on deferred submission*, patent
CN103955394B. Pages: ``docs/deferral/deferred_submission.md``, ``docs/loops/loop_finder.md``.
"""
