"""Who owns whom, for whoever asks over HTTP: the owners and dependents of one object, and the graph of many."""
