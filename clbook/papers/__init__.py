"""The audit: a folder for each paper, with what stands on that paper's page alone.

    ls   Linear Separability in Contrastive Learning via Neural Training Dynamics
    va   Understanding Contrastive Learning through Variational Analysis and Neural Network Optimization Perspectives
    sa   On the Alignment Between Supervised and Self-Supervised Contrastive Learning
    sl   Contrastive Learners Are Semantic Learners
    cs   Content suppresses style: dimensionality collapse in contrastive learning

`claims` of each judges, `figures` draws, `recipes` makes its records. The experiments know nothing of these folders.
"""
