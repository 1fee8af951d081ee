"""What does the loss alone decide? `quiz` is one anchor as a quiz, `descent` lets free points go."""
