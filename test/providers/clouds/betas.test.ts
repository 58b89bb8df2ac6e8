import { describe, expect, test } from 'vitest';
import type { ProviderSettings } from '../../../src/config/settings.ts';
import { createBetaFilter } from '../../../src/providers/clouds/betas.ts';
import type { CloudRequest } from '../../../src/providers/clouds/cloud.ts';
import type { RecordedRequest } from '../../support/exchange.ts';
import { json, type Script } from '../../support/scripts.ts';
import { messageBody, text } from '../../wire/support/messages-shapes.ts';
import { ask, headerIn, startClouds } from './support/clouds.ts';

const CLAUDE = 'anthropic.claude-sonnet-4-5-20250929-v1:0';
/** Of Claude Code to Anthropic's own API. */
const SENT = 'claude-code-20250219,context-1m-2025-08-07,fast-mode-2026-02-01';
const headers = { 'anthropic-beta': SENT };
const hello = json(200, messageBody([text('Hello')]));

/** The betas of a request, in its header or in the body of InvokeModel. */
const betasOf = (request: RecordedRequest): string[] => {
  const { anthropic_beta } = JSON.parse(String(request.body)) as { anthropic_beta?: string[] };
  return anthropic_beta ?? headerIn(request, 'anthropic-beta')?.split(',') ?? [];
};

interface Case {
  name: string;
  settings: Record<string, ProviderSettings>;
  model: string;
  /** What the cloud knows, and its words for others. */
  known: readonly string[];
  refusal(foreign: readonly string[]): Script;
  /** What arrives after a refusal. */
  expected: string[][];
}

const ofAws = (): Script =>
  json(400, { message: 'invalid beta flag' }, { 'x-amzn-errortype': 'ValidationException' });
const BEDROCK = { refusal: ofAws, model: `bedrock/eu.${CLAUDE}` };

const CASES: Case[] = [
  {
    ...{ name: 'Bedrock, runtime', settings: { bedrock: { region: 'eu-west-1' } }, ...BEDROCK },
    known: ['context-1m-2025-08-07'],
    expected: [['context-1m-2025-08-07']],
  },
  {
    ...{ name: 'Bedrock, InvokeModel', settings: { bedrock: { region: 'eu-west-1', surface: 'invoke' } } },
    ...BEDROCK,
    known: ['context-1m-2025-08-07'],
    expected: [['context-1m-2025-08-07']],
  },
  {
    // anthropics/claude-code#49370: a model that takes less than AWS's document says.
    ...{ name: 'Bedrock, none', settings: { bedrock: { region: 'eu-west-1' } }, ...BEDROCK },
    known: [],
    expected: [['context-1m-2025-08-07'], []],
  },
  {
    name: 'Vertex AI',
    settings: { vertex: { project: 'p', keyEnv: 'TOKEN' } },
    model: 'vertex/claude-sonnet-4-5@20250929',
    known: ['claude-code-20250219', 'context-1m-2025-08-07'],
    refusal: (foreign) =>
      json(400, {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: `Unexpected value(s) ${foreign.map((beta) => `\`${beta}\``).join(', ')} for the \`anthropic-beta\` header. Please consult our documentation at docs.anthropic.com or try again without the header.`,
        },
      }),
    expected: [['claude-code-20250219', 'context-1m-2025-08-07']],
  },
];

test.each(CASES)('betas that $name refuses are left out, then and for an hour', async (each) => {
  const { settings, model, known, refusal, expected } = each;
  const gateway = await startClouds(settings, { credentials: { bedrock: 'key' }, env: { TOKEN: 'token' } });
  gateway.upstream.script(async (exchange) => {
    await exchange.body;
    const foreign = betasOf(exchange.request).filter((beta) => !known.includes(beta));
    await (foreign.length > 0 ? refusal(foreign) : hello)(exchange);
  });
  for (let i = 0; i < 2; i++) expect((await ask(gateway, model, {}, { headers })).status).toBe(200);
  expect(gateway.upstream.requests.map(betasOf)).toEqual([SENT.split(','), ...expected, expected.at(-1)]);
  expect(await gateway.settled(2)).toMatchObject([{ outcome: 'ok' }, { outcome: 'ok' }]);
});

test('what a model refuses to one project is kept from no other that it would take it from', async () => {
  const gateway = await startClouds(
    { bedrock: { region: 'eu-west-1' } },
    { credentials: { bedrock: 'key' } },
  );
  const LONG = 'context-1m-2025-08-07';
  gateway.upstream.script(async (exchange) => {
    await exchange.body;
    const isForeign = betasOf(exchange.request).some((beta) => beta !== LONG);
    await (isForeign ? ofAws() : hello)(exchange);
  });
  await gateway.newProject('other');
  const keys = [gateway.key, await gateway.newKey('other')];
  // AWS doesn't say which of the two it means.
  for (const [i, sent] of [`computer-use-2024-10-22,${LONG}`, LONG].entries()) {
    const own = { authorization: `Bearer ${keys[i]}`, 'anthropic-beta': sent };
    expect((await ask(gateway, `bedrock/eu.${CLAUDE}`, {}, { headers: own })).status).toBe(200);
  }
  expect(gateway.upstream.requests.map(betasOf)).toEqual([['computer-use-2024-10-22', LONG], [], [LONG]]);
});

test('another refusal goes to the client as it is, after one request', async () => {
  const gateway = await startClouds(
    { bedrock: { region: 'eu-west-1' } },
    { credentials: { bedrock: 'key' } },
  );
  gateway.upstream.script(
    json(400, { message: 'tools.0.custom.defer_loading: Extra inputs are not permitted' }),
  );
  const answer = await ask(gateway, `bedrock/eu.${CLAUDE}`, {}, { headers });
  expect([answer.status, answer.text()]).toEqual([400, expect.stringContaining('defer_loading')]);
  expect(gateway.upstream.requests).toHaveLength(1);
});

describe('what is refused', () => {
  const requestOf = (model: string): CloudRequest => ({
    ...{ method: 'POST', origin: 'https://cloud', path: '/messages' },
    headers: ['anthropic-beta', SENT, 'accept', 'x', 'anthropic-beta', 'more-2026-01-01'],
    body: Buffer.from(JSON.stringify({ model })),
  });

  test('is of a model, and is sent again after an hour', () => {
    let now = 0;
    const filter = createBetaFilter(() => now);
    const request = requestOf('a');
    const left = filter.afterRefusal(400, 'invalid beta flag', request);
    expect(left?.headers).toEqual(['accept', 'x', 'anthropic-beta', 'context-1m-2025-08-07']);
    expect(filter.withoutRefused(request).headers).toEqual(left?.headers);
    expect(filter.withoutRefused(requestOf('b'))).toEqual(requestOf('b'));
    now = 3_600_000;
    expect(filter.withoutRefused(request)).toBe(request);
  });

  test('is remembered in twenty ways at the most', () => {
    const filter = createBetaFilter();
    const ofBeta = (i: number) => ({ ...requestOf('a'), headers: ['anthropic-beta', `${i}-2026-01-01`] });
    for (let i = 0; i <= 20; i++) filter.afterRefusal(400, 'invalid beta flag', ofBeta(i));
    expect(filter.withoutRefused(ofBeta(0))).toEqual(ofBeta(0));
    expect(filter.withoutRefused(ofBeta(1))).not.toEqual(ofBeta(1));
  });

  test('ends with a request without betas', () => {
    const filter = createBetaFilter();
    let request: CloudRequest | undefined = requestOf('a');
    let tries = 0;
    for (; request; tries++) request = filter.afterRefusal(400, 'invalid beta flag', request);
    expect(tries).toBe(3);
  });

  test('is remembered of a hundred models', () => {
    const filter = createBetaFilter();
    for (let i = 0; i <= 100; i++) filter.afterRefusal(400, 'invalid beta flag', requestOf(`${i}`));
    expect(filter.withoutRefused(requestOf('0'))).toEqual(requestOf('0'));
    expect(filter.withoutRefused(requestOf('1'))).not.toEqual(requestOf('1'));
  });
});
