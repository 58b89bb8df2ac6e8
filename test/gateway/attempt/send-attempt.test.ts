import { expect, test } from 'vitest';
import { completionBody, usageOf } from '../../support/chat-shapes.ts';
import { json, status } from '../../support/scripts.ts';
import { sse } from '../../support/sse-scripts.ts';
import { startStages } from '../../support/stages.ts';

const PLAIN = { model: 'many', messages: [{ role: 'user', content: 'Hi' }] };
const HEADERS = { 'x-session-id': 's-1', 'user-agent': 'opencode/1.18.33' };

test("an attempt has the client's session and the provider's ids", async () => {
  const stages = await startStages();
  const body = completionBody('m', 'Hi', usageOf(1, 1));
  stages.upstreams[0]?.queue(
    json(200, body, { 'x-request-id': 'req_plain' }),
    sse(['Hi'], { usage: usageOf(1, 1) }),
    status(400),
  );
  const expected = [
    { upstreamMessageId: body.id, upstreamRequestId: 'req_plain' },
    { upstreamMessageId: body.id },
    { upstreamMessageId: '', upstreamRequestId: 'req_upstream' },
  ];
  for (const [i, ids] of expected.entries()) {
    const { exchange, connection } = await stages.receive({ ...PLAIN, stream: i === 1 }, HEADERS);
    const attempt = await stages.firstAttempt(exchange);
    expect(attempt.context.session).toEqual({
      sessionId: 's-1',
      agent: 'opencode',
      agentVersion: '1.18.33',
    });
    expect(await stages.send(attempt)).toMatchObject(ids);
    connection.hangUp();
  }
});
