"""Runs moto's server with the additions that this stack needs: functions that run, and Glue databases in templates.

usage: moto_server.py PORT FOLDER    (FOLDER is for the unpacked code of functions)
"""

import hashlib
import io
import json
import logging
import os
import re
import subprocess
import sys
import threading
import warnings
import zipfile

PORT, FOLDER = sys.argv[1:]
ACCOUNT, REGION = "123456789012", "us-east-1"
os.environ["MOTO_PORT"] = PORT
# From the first call on, moto checks signatures.
os.environ["INITIAL_NO_AUTH_ACTION_COUNT"] = "0"

from moto import server
from moto.awslambda.models import LambdaFunction
from moto.cloudformation import parsing
from moto.cloudformation.exceptions import ValidationError
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.common_models import CloudFormationModel
from moto.core.config import default_user_config
from moto.glue.models import glue_backends
from moto.iam.access_control import IAMRequestBase
from moto.iam.models import ManagedPolicy, iam_backends
from moto.s3.models import FakeBucket
from moto.scheduler.models import scheduler_backends
from moto.stepfunctions import models as step_functions
from moto.stepfunctions.parser.asl.component.state.exec.state_task.service.state_task_service_aws_sdk import (
    StateTaskServiceAwsSdk,
)
from moto.stepfunctions.parser.asl.utils import boto_client
from moto.stepfunctions.parser.asl.parse.asl_parser import AmazonStateLanguageParser
from moto.stepfunctions.parser.models import stepfunctions_parser_backends
from moto.sts.models import sts_backends

# Resources that moto's CloudFormation cannot create, and why the proof works without them.
NOT_MADE = {
    "AWS::Athena::NamedQuery": "there is no engine: DuckDB answers the queries of the template",
    "AWS::Athena::WorkGroup": "there is no engine: DuckDB reads the rows",
    "AWS::CloudWatch::Alarm": "nothing collects the metrics",
    "AWS::Lambda::EventInvokeConfig": "of events that nobody waits for: nothing sends such here",
    "AWS::SNS::Subscription": "a test subscribes by itself",
    "AWS::SNS::TopicPolicy": "it lets services in, and denies nothing that is tried here",
    "AWS::SQS::QueuePolicy": "it lets services in, and denies nothing that is tried here",
    "AWS::Scheduler::Schedule": "the watcher's: nothing would start on it, the functions are started by hand",
}


sessions = {}


def session_of(role_arn):
    """The one session in which a role acts here. A recreated role gets another session."""
    role = iam_backends[ACCOUNT]["aws"].get_role_by_arn(role_arn)
    if role.id not in sessions:
        sessions[role.id] = sts_backends[ACCOUNT]["aws"].assume_role(REGION, "local", role_arn, None, 3600, None)
    return sessions[role.id]


# The tests, the CDK and moto itself act as an administrator of the account, who may do everything.
ADMINISTRATORS = {"test", "ak"}
moto_authorize = ActionAuthenticatorMixin._authenticate_and_authorize_action


def signed_by_role(authorization):
    """The scope of the signature, e.g. the key, the day, the region and the service; None for an administrator."""
    _, credential, rest = authorization.partition("Credential=")
    scope = rest.partition(",")[0].split("/")
    return scope if credential and scope[0] not in ADMINISTRATORS else None


def authorize(self, request_class, resource="*"):
    """moto finds the session of an access key, and checks the signature and the token."""
    if signed_by_role(self.headers.get("Authorization", "")):
        moto_authorize(self, request_class, resource)


ActionAuthenticatorMixin._authenticate_and_authorize_action = authorize

# moto compares `*` with the resources of Glue and others, and treats every condition as met: test/iam judges the policies.
IAMRequestBase.check_action_permitted = lambda self, resource: None

moto_client = boto_client.boto3.client


def client_for(region, service, state_credentials=None):
    """Runs the calls of a state machine in a session of its role."""
    session = session_of(state_credentials.role_arn)
    return moto_client(
        service_name=service,
        region_name=region,
        endpoint_url=f"http://localhost:{PORT}",
        aws_access_key_id=session.access_key_id,
        aws_secret_access_key=session.secret_access_key,
        aws_session_token=session.session_token,
        config=boto_client.Config(parameter_validation=False, retries={"total_max_attempts": 1}, read_timeout=900),
    )


for module in list(sys.modules.values()):
    if getattr(module, "boto_client_for", None) is boto_client.boto_client_for and module is not boto_client:
        module.boto_client_for = client_for


unpacking = threading.Lock()


RUNTIME = os.path.join(os.path.dirname(__file__), "../functions/lambda-runtime.ts")


def invoke(function, event=None):
    """Runs the function in a process of its own. Returns its response, whether the response is an error, and its log."""
    task = os.path.join(FOLDER, hashlib.sha256(function.code_bytes).hexdigest())
    with unpacking, zipfile.ZipFile(io.BytesIO(function.code_bytes)) as code:
        if not os.path.exists(task):
            code.extractall(task)
    seconds = int(function.timeout)
    environment = {
        "PATH": os.environ["PATH"],
        "AWS_REGION": REGION,
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{PORT}",
        "AWS_LAMBDA_FUNCTION_NAME": function.function_name,
        "LAMBDA_TASK_ROOT": task,
        **function.environment_vars,
        **credentials_of(function.role),
    }
    command = ["node", RUNTIME, f"{task}/main.js", json.dumps(event or {}), str(seconds * 1000)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds)
    *log, last = ended.stdout.splitlines() or [json.dumps({"errorType": "Runtime.ExitError"})]
    answer = json.loads(last)
    return json.dumps(answer.get("answer", answer)), "errorType" in answer, "\n".join(log) + ended.stderr


def credentials_of(role_arn):
    """As Lambda passes them to a function."""
    session = session_of(role_arn)
    return {
        "AWS_ACCESS_KEY_ID": session.access_key_id,
        "AWS_SECRET_ACCESS_KEY": session.secret_access_key,
        "AWS_SESSION_TOKEN": session.session_token,
    }


LambdaFunction._invoke_lambda = invoke

# State machines of a template are executed, not only stored.
default_user_config["stepfunctions"]["execute_state_machine"] = True
step_functions.stepfunctions_backends = stepfunctions_parser_backends

moto_parse = AmazonStateLanguageParser.parse
# moto accepts only a percentage with a fraction.
whole_percentage = re.compile(r'(?<="ToleratedFailurePercentage":)\d+(?=[,}])')
AmazonStateLanguageParser.parse = lambda definition: moto_parse(whole_percentage.sub(r"\g<0>.0", definition))


def with_initials(change, value):
    """The value with the first letter of every name in it changed."""
    if isinstance(value, dict):
        return {change(name[0]) + name[1:]: with_initials(change, inner) for name, inner in value.items()}
    return [with_initials(change, inner) for inner in value] if isinstance(value, list) else value


def renames_in_place(change):
    def rename(self, content, *_args, **_kwargs):
        changed = with_initials(change, content)
        content.clear()
        content.update(changed)

    return rename


# In state machines the names of Step Functions' own API begin with capitals, which moto leaves as they are.
StateTaskServiceAwsSdk._normalise_parameters = renames_in_place(str.lower)
StateTaskServiceAwsSdk._normalise_response = renames_in_place(str.upper)

moto_delete = parsing.ResourceMap.delete


def delete_all_but_retained(self):
    """moto's own method supports one way to keep a resource."""
    for resource in self._resource_json_map.values():
        if resource.get("DeletionPolicy") == "RetainExceptOnCreate":
            resource["DeletionPolicy"] = "Retain"
    moto_delete(self)


parsing.ResourceMap.delete = delete_all_but_retained


def update_policy(cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name):
    (current,) = original_resource.versions
    current.document = json.dumps(cloudformation_json["Properties"]["PolicyDocument"])
    return original_resource


# moto recreates a managed policy at every update, which fails under the same name, and never deletes a policy.
ManagedPolicy.update_from_cloudformation_json = classmethod(update_policy)


def delete_policy(self, account_id, region):
    for role in self.backend.roles.values():
        role.managed_policies.pop(self.arn, None)
    self.backend.managed_policies.pop(self.arn, None)


ManagedPolicy.delete = delete_policy

# To tag a bucket, moto's own method reads its name from the template, which does not contain the name.
FakeBucket.update_from_cloudformation_json = classmethod(
    lambda cls, original_resource, **_kwargs: original_resource
)


class Resource:
    """The common part of resources of which others need only a name and an address."""

    def __init__(self, name):
        self.physical_resource_id = name

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name, cloudformation_json, account_id, region_name, **kwargs
    ):
        return cls(resource_name)

    @classmethod
    def update_from_cloudformation_json(cls, original_resource, *_args, **_kwargs):
        return original_resource

    @classmethod
    def has_cfn_attr(cls, attr):
        return attr == "Arn"

    def get_cfn_attribute(self, attribute_name):
        return f"arn:aws:nothing:us-east-1:123456789012:{self.physical_resource_id}"

    def delete(self, account_id, region):
        pass

    def is_created(self):
        return True


class GlueDatabase(Resource, CloudFormationModel):
    # moto reads the service of a model from here.
    __module__ = "moto.glue"

    @staticmethod
    def cloudformation_type():
        return "AWS::Glue::Database"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name, cloudformation_json, account_id, region_name, **kwargs
    ):
        described = cloudformation_json["Properties"]["DatabaseInput"]
        glue_backends[account_id][region_name].create_database(described["Name"], described)
        return cls(described["Name"])

    @classmethod
    def update_from_cloudformation_json(
        cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name
    ):
        """Another name is another database."""
        name = cloudformation_json["Properties"]["DatabaseInput"]["Name"]
        if name == original_resource.physical_resource_id:
            return original_resource
        original_resource.delete(account_id, region_name)
        return cls.create_from_cloudformation_json(name, cloudformation_json, account_id, region_name)

    def delete(self, account_id, region):
        glue_backends[account_id][region].delete_database(self.physical_resource_id)


class BucketPolicy(Resource, CloudFormationModel):
    __module__ = "moto.cloudformation"

    @staticmethod
    def cloudformation_type():
        return "AWS::S3::BucketPolicy"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name, cloudformation_json, account_id, region_name, **kwargs
    ):
        return cls(cloudformation_json["Properties"]["Bucket"])

    @classmethod
    def update_from_cloudformation_json(
        cls, original_resource, new_resource_name, cloudformation_json, account_id, region_name
    ):
        return cls.create_from_cloudformation_json(
            new_resource_name, cloudformation_json, account_id, region_name
        )


class ScheduleGroup(Resource, CloudFormationModel):
    __module__ = "moto.scheduler"

    @staticmethod
    def cloudformation_type():
        return "AWS::Scheduler::ScheduleGroup"

    @classmethod
    def create_from_cloudformation_json(
        cls, resource_name, cloudformation_json, account_id, region_name, **kwargs
    ):
        name = cloudformation_json["Properties"]["Name"]
        scheduler_backends[account_id][region_name].create_schedule_group(name, [])
        return cls(name)

    def delete(self, account_id, region):
        scheduler_backends[account_id][region].delete_schedule_group(self.physical_resource_id)


def not_made(kind):
    of_kind = {"__module__": "moto.cloudformation", "cloudformation_type": staticmethod(lambda: kind)}
    return type(kind, (Resource, CloudFormationModel), of_kind)


# moto finds them as subclasses, as long as they are referenced.
not_made_classes = [not_made(kind) for kind in NOT_MADE]

moto_class = parsing.resource_class_from_type


def known_class(resource_type):
    found = moto_class(resource_type)
    if found is None:
        raise ValidationError(resource_type, f"moto does not know {resource_type}: see NOT_MADE")
    return found


parsing.resource_class_from_type = known_class


def end_with_input():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_input, daemon=True).start()
# The remaining failures are moto's own.
warnings.simplefilter("ignore")
logging.getLogger("werkzeug").setLevel(logging.ERROR)
logging.getLogger("moto").setLevel(logging.CRITICAL)
server.main(["-H", "127.0.0.1", "-p", PORT])
