"""What can be said about constraints beyond running them: how two relate, what is risky in a schema."""
