/**
 * Serves SNS's Publish over real HTTP, in AWS's Query protocol.
 * Fault: `deny` refuses every call.
 */
import { type Access, accessKeyOf } from './access.ts';
import { startHttpServer } from './http-server.ts';

export async function startSnsServer({ access = () => true }: { access?: Access } = {}) {
  const published: { topic: string; subject: string; message: string }[] = [];
  const faults = { deny: false };
  const server = await startHttpServer((request, body, response) => {
    const input = new URLSearchParams(body.toString());
    const text = (name: string) => input.get(name) ?? '';
    const topic = text('TopicArn');
    const isAllowed = access(accessKeyOf(request), `sns:${text('Action')}`, topic) && !faults.deny;
    const answer = isAllowed
      ? '<PublishResponse><PublishResult><MessageId>m-1</MessageId></PublishResult></PublishResponse>'
      : '<ErrorResponse><Error><Type>Sender</Type><Code>AuthorizationError</Code><Message>not authorized</Message></Error></ErrorResponse>';
    if (isAllowed) published.push({ topic, subject: text('Subject'), message: text('Message') });
    response.writeHead(isAllowed ? 200 : 403, { 'content-type': 'text/xml' });
    response.end(answer);
  });
  return { ...server, published, faults };
}
