"""The audit: a folder for each paper, with what stands on that paper's page alone.

    ls   Linear Separability in Contrastive Learning via Neural Training Dynamics
    va   Understanding Contrastive Learning through Variational Analysis and Neural Network Optimization Perspectives
    sa   On the Alignment Between Supervised and Self-Supervised Contrastive Learning
    sl   Contrastive Learners Are Semantic Learners
    cs   Content suppresses style: dimensionality collapse in contrastive learning

In each, `items.yaml` lists what stands in the paper, with the claims that are made of it; `runs` is what they rest on,
`measures` measures them, `figures` draws. `judging` turns what was measured into verdicts,
and `python -m clbook_book.audit` does so for all of them. Course and experiments know nothing of these folders.
"""
