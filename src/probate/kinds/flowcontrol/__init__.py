"""API Priority and Fairness objects. The server classifies requests by them but does not queue requests.

bootstrap_flows       the FlowSchemas and PriorityLevelConfigurations that every server has
dangling_references   whether a FlowSchema names an existing priority level
classification        the FlowSchema of a request
"""
