"""What features tell about classes, on images that were held out."""

from __future__ import annotations

import numpy as np


def knn(train, y, test, y_test) -> float:
    """Accuracy of the majority among the ten training points most similar by the cosine; points (n, d), labels (n,).

    `metrics.neighbour_accuracy` asks the other points of one set, by distance; here test images ask training images.
    """
    from sklearn.neighbors import KNeighborsClassifier  # here, since loading it takes a second

    model = KNeighborsClassifier(10, metric="cosine", algorithm="brute")
    return float(
        model.fit(np.asarray(train), np.asarray(y)).score(np.asarray(test), np.asarray(y_test))
    )
