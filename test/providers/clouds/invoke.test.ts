import Anthropic from '@anthropic-ai/sdk';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { openFrames } from '../../../src/providers/clouds/bedrock/frames.ts';
import { json } from '../../support/scripts.ts';
import { type Event, eventText } from '../../wire/support/event-scripts.ts';
import { messageBody, messageStream, text } from '../../wire/support/messages-shapes.ts';
import { awsProfile, isSignedBy } from './support/aws.ts';
import { ask, headerIn, startClouds } from './support/clouds.ts';
import { chunk, exception, frames } from './support/frames.ts';

const REGION = 'us-east-1';
const MODEL = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
const ANNA = { id: 'AKIDANNA', secret: 'secret-anna', token: 'token-anna' };

async function start() {
  awsProfile('work').write(ANNA);
  return startClouds({ bedrock: { region: REGION, profile: 'work', surface: 'invoke' } });
}

test('a message is addressed by the path, signed with its colons, with betas in the body', async () => {
  const gateway = await start();
  gateway.upstream.script(json(200, messageBody([text('Hello')])));
  const headers = { 'anthropic-beta': 'context-1m-2025-08-07, interleaved-thinking-2025-05-14' };
  expect((await ask(gateway, `bedrock/${MODEL}`, { stream: false }, { headers })).status).toBe(200);
  const [request] = gateway.upstream.requests;
  if (!request) throw new Error('nothing arrived');
  expect(request.path).toBe('/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke');
  expect(await isSignedBy(request, ANNA, { region: REGION, service: 'bedrock' })).toBe(true);
  expect(headerIn(request, 'content-type')).toBe('application/json');
  expect(JSON.parse(request.body.toString())).toEqual({
    anthropic_version: 'bedrock-2023-05-31',
    anthropic_beta: ['context-1m-2025-08-07', 'interleaved-thinking-2025-05-14'],
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hi' }],
  });
});

test("Anthropic's own client reads the frames of a stream as events, and the stream is booked", async () => {
  const gateway = await start();
  gateway.upstream.script(frames(messageStream([text('Hello you')]).map(chunk), 37));
  const client = new Anthropic({ baseURL: gateway.origin, apiKey: gateway.key, maxRetries: 0 });
  const message = await client.messages
    .stream({ model: `bedrock/${MODEL}`, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }] })
    .finalMessage();
  expect(message.content).toMatchObject([{ type: 'text', text: 'Hello you' }]);
  expect(gateway.upstream.requests[0]?.path).toContain('/invoke-with-response-stream');
  expect(await gateway.settled(1)).toMatchObject([
    { inputTokens: 20, outputTokens: 5, costNanoUsd: 20 * 3300 + 5 * 16_500, outcome: 'ok' },
  ]);
});

test('an exception in a stream is an error of the client', async () => {
  const gateway = await start();
  const started = messageStream([text('Hello')])
    .slice(0, 4)
    .map(chunk);
  gateway.upstream.queue(
    frames([...started, exception('throttlingException', 'Too many tokens')], 1000),
    frames([exception('validationException', 'Input is too long for requested model.')], 1000),
  );
  const broken = await ask(gateway, `bedrock/${MODEL}`, { stream: true });
  expect(broken.text()).toContain('"type":"rate_limit_error","message":"Too many tokens"');
  const refused = await ask(gateway, `bedrock/${MODEL}`, { stream: true });
  expect(refused.text()).toContain('prompt is too long');
});

describe('openFrames()', () => {
  const events: Event[] = messageStream([text('A stream of events, with ä and 日本')]);
  const bytes = Buffer.concat(events.map(chunk));

  test('reads the same events from any pieces', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(bytes.length), { maxLength: 20 }), async (cuts) => {
        const reader = await openFrames();
        const ends = [...cuts.sort((a, b) => a - b), bytes.length];
        const read = ends.map((end, i) => reader.read(bytes.subarray(ends[i - 1] ?? 0, end)).toString());
        expect(read.join('')).toBe(events.map(eventText).join(''));
      }),
      { numRuns: 100 },
    );
  });

  test('refuses bytes that were changed on their way', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, change) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ change;
        const reader = await openFrames();
        let read = '';
        try {
          read = reader.read(changed).toString();
        } catch {
          read = '';
        }
        // A frame whose length grew is not complete yet.
        expect(read).not.toBe(events.map(eventText).join(''));
      }),
      { numRuns: 100 },
    );
  });
});
