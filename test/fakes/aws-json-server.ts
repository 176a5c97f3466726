import { isJsonObject, type Json, type JsonObject, parseJson, stringifyJson } from '../../shared/json.ts';
import { type HttpServer, startHttpServer } from './http-server.ts';

/** An error as AWS's JSON protocol answers it. */
export class AwsFault extends Error {
  readonly type: string;
  readonly status: number;

  constructor(type: string, message: string, status = 400) {
    super(message);
    this.type = type;
    this.status = status;
  }
}

/** Answers AWS JSON 1.1 calls by operation name. */
export function startAwsJsonServer(
  operations: Readonly<Record<string, (input: JsonObject) => JsonObject>>,
): Promise<HttpServer> {
  return startHttpServer((request, body, response) => {
    const [, operation = ''] = String(request.headers['x-amz-target']).split('.');
    const { status, output } = answer(operations[operation], body);
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' });
    response.end(stringifyJson(output));
  });
}

function answer(
  operation: ((input: JsonObject) => JsonObject) | undefined,
  body: Buffer,
): { status: number; output: JsonObject } {
  try {
    const input = parseJson(body.toString());
    if (operation === undefined || !isJsonObject(input)) throw new AwsFault('UnknownOperationException', '');
    return { status: 200, output: operation(input) };
  } catch (error) {
    const fault =
      error instanceof AwsFault ? error : new AwsFault('InternalServiceException', String(error), 500);
    return { status: fault.status, output: { __type: fault.type, Message: fault.message } };
  }
}

/** A field that holds text; `''` for every other value. */
export function stringOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}
