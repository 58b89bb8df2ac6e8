import { describe, expect, test } from 'vitest';
import { json } from '../../support/scripts.ts';
import { either } from '../../wire/support/event-scripts.ts';
import { messageBody, messageStream, messageUsage, text } from '../../wire/support/messages-shapes.ts';
import { send } from '../../wire/support/send.ts';
import { awsProfile, signedOnly } from './support/aws.ts';
import { startClouds } from './support/clouds.ts';
import { chunk, frames, readFrames } from './support/frames.ts';

const REGION = 'eu-central-1';
const SCOPE = { region: REGION, service: 'bedrock' };
const MODEL = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
const ANNA = { id: 'AKIDANNA', secret: 'secret-anna', token: 'token-anna' };
const BERT = { id: 'AKIDBERT', secret: 'secret-bert', token: 'token-bert' };
const HI = { messages: [{ role: 'user', content: [{ text: 'Hi' }] }] };
const pathOf = (operation: string) => `/model/${encodeURIComponent(MODEL)}/${operation}`;

const hello = messageBody([text('Hello')], { usage: messageUsage(20, 5) });
const events = messageStream([text('Hello')]);

/** How each surface answers a request that it accepts. */
const SURFACES = [
  { surface: 'runtime', served: either(hello, events) },
  {
    surface: 'invoke',
    served: (exchange) =>
      (/stream/.test(exchange.request.path) ? frames(events.map(chunk), 500) : json(200, hello))(exchange),
  },
] as const satisfies readonly { surface: string; served: ReturnType<typeof json> }[];

describe.each(SURFACES)('a client of Converse by the surface $surface', ({ surface, served }) => {
  async function start() {
    const profile = awsProfile('work');
    profile.write(ANNA);
    const gateway = await startClouds({ bedrock: { region: REGION, profile: 'work', surface } });
    const state = { identity: ANNA };
    gateway.upstream.script(signedOnly(() => state.identity, SCOPE, served));
    const first = await send(gateway, pathOf('converse'), HI);
    expect(first.status).toBe(200);
    return { gateway, profile, state };
  }

  test('notices nothing of credentials that expire in the middle, which are renewed once', async () => {
    const { gateway, profile, state } = await start();
    state.identity = BERT;
    profile.write(BERT);
    const operations = ['converse', 'converse-stream', 'converse', 'converse-stream'];
    const answers = await Promise.all(operations.map((each) => send(gateway, pathOf(each), HI)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const [whole, streamed] = answers as [(typeof answers)[0], (typeof answers)[0]];
    expect(JSON.parse(whole.text()).output.message.content).toEqual([{ text: 'Hello' }]);
    expect(readFrames(streamed.body)).toContainEqual(['messageStop', { stopReason: 'end_turn' }]);
    expect(profile.fetches()).toBe(2);
    expect(await gateway.settled(5)).toMatchObject(Array(5).fill({ outcome: 'ok' }));
  });

  test.each(['converse', 'converse-stream'])(
    'is told the profile and the command by %s if they cannot be renewed',
    async (operation) => {
      const { gateway, profile, state } = await start();
      state.identity = BERT;
      profile.remove();
      const refused = await send(gateway, pathOf(operation), HI);
      expect(refused.status).toBe(403);
      expect(refused.header('content-type')).toContain('application/json');
      const { __type, message } = JSON.parse(refused.text());
      expect(__type).toBe('AccessDeniedException');
      expect(message).toContain('no AWS credentials of profile work');
      expect(message).toContain('aws sso login --profile work');
      for (const secret of [ANNA.token, ANNA.secret]) expect(refused.text()).not.toContain(secret);
      expect((await gateway.settled(2))[1]).toMatchObject({ costNanoUsd: 0 });
      // The user has run the command.
      profile.write(BERT);
      expect((await send(gateway, pathOf(operation), HI)).status).toBe(200);
    },
  );
});
