/**
 * Serves AWS's JSON 1.1 protocol over real HTTP: operations by name, errors as AWS returns them, permissions checked
 * first. The doubles of Glue and Secrets Manager use it, so that tests run the real SDK clients.
 */
import {
  isJsonObject,
  type Json,
  type JsonObject,
  parseJson,
  stringifyJson,
} from '../../shared/base/json.ts';
import { type Access, accessKeyOf } from './access.ts';
import { type HttpServer, startHttpServer } from './http-server.ts';

/** An error as AWS's JSON protocol returns it. */
export class AwsFault extends Error {
  readonly type: string;
  readonly status: number;

  constructor(type: string, message: string, status = 400) {
    super(message);
    this.type = type;
    this.status = status;
  }
}

/** The permission that a call needs: an action by its name in policies, on each of these ARNs. */
export interface Needed {
  action: string;
  resources: readonly string[];
  /** The properties that conditions of policies may test. */
  context?: Readonly<Record<string, string>>;
}

/**
 * Answers AWS JSON 1.1 calls by operation name.
 * @param access refuses a call if a permission is missing; without `access` every call is allowed
 */
export function startAwsJsonServer(
  operations: Readonly<Record<string, (input: JsonObject) => JsonObject>>,
  neededBy: (operation: string, input: JsonObject) => Needed,
  access: Access = () => true,
): Promise<HttpServer> {
  return startHttpServer((request, body, response) => {
    const [, operation = ''] = String(request.headers['x-amz-target']).split('.');
    const authorise = (input: JsonObject) =>
      refuse(neededBy(operation, input), (...needed) => access(accessKeyOf(request), ...needed));
    const { status, output } = answer(operations[operation], body, authorise);
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(stringifyJson(output));
  });
}

function answer(
  operation: ((input: JsonObject) => JsonObject) | undefined,
  body: Buffer,
  authorise: (input: JsonObject) => void,
): { status: number; output: JsonObject } {
  try {
    const input = parseJson(body.toString());
    if (operation === undefined || !isJsonObject(input)) throw new AwsFault('UnknownOperationException', '');
    authorise(input);
    return { status: 200, output: operation(input) };
  } catch (error) {
    const fault =
      error instanceof AwsFault ? error : new AwsFault('InternalServiceException', String(error), 500);
    return { status: fault.status, output: { __type: fault.type, Message: fault.message } };
  }
}

function refuse(
  { action, resources, context }: Needed,
  allows: (action: string, resource: string, context: Needed['context']) => boolean,
): void {
  const refused = resources.find((resource) => !allows(action, resource, context));
  if (refused !== undefined)
    throw new AwsFault(
      'AccessDeniedException',
      `not authorized to perform: ${action} on resource: ${refused}`,
    );
}

/** A text field; `''` if the value is not a text. */
export function stringOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
