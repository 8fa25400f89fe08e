"""Priority and fairness, as far as there are objects of it: nobody is kept waiting by them.

bootstrap     the FlowSchemas and PriorityLevelConfigurations that every server has
dangling      whether a FlowSchema names a level that is there
classifying   which FlowSchema a request is of
"""
