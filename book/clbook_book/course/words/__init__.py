"""Does training find out that two words are one? `neighbours` looks at one word of a run, `atlas` at all."""
