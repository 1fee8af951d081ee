"""What features tell about classes and about each other, on images that were held out."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clbook.metrics import linear_cka


def knn(train, y, test, y_test, k: int = 10) -> float:
    """Accuracy of the majority among the k training points most similar by the cosine; points (n, d), labels (n,)."""
    model = KNeighborsClassifier(k, metric="cosine", algorithm="brute")
    return float(model.fit(np.asarray(train), np.asarray(y)).score(np.asarray(test), np.asarray(y_test)))


def probe(train, y, test, y_test) -> float:
    """Accuracy on the test points of a linear classifier (logistic regression on standardised features)."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    return float(model.fit(np.asarray(train), np.asarray(y)).score(np.asarray(test), np.asarray(y_test)))


def covariance_spectrum(z: np.ndarray) -> np.ndarray:
    """(d,) singular values of the covariance of z (n, d), the largest first (CS Fig. 2; Jing et al. 2022)."""
    return np.linalg.svd(np.cov(z, rowvar=False), compute_uv=False)


def twin_cka(a, b) -> float:
    """Linear CKA of two runs' features of the same test images (SA Sec. 5)."""
    if not np.array_equal(a.labels, b.labels):
        raise ValueError("a, b = runs with other test images are not allowed: they must share data, test and seed")
    return linear_cka(a.h, b.h)
