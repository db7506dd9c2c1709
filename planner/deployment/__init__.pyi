from planner.deployment.client.client import Client as Client
from planner.deployment.client.client import Report as Report
from planner.deployment.client.sealed import Memory as Memory
from planner.deployment.parameters import Parameters as Parameters
from planner.deployment.parameters import read_parameters as read_parameters
from planner.deployment.parameters import write_parameters as write_parameters
