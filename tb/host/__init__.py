"""Tests of the host's side: bus port, mailbox, execution units."""
