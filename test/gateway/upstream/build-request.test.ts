import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GwError } from '../../../src/errors.ts';
import { buildRequest } from '../../../src/gateway/upstream/build-request.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import type { Wire } from '../../../src/wire/wire.ts';

const PRICE = { picoUsd: 1_000_000n };
const CARD = { input: PRICE, output: PRICE, perRequestPicoUsd: 0n };
const LISTED = 1.000000001;

/** The body for the provider, under a budget that holds the listed price; undefined when the request is refused. */
function sent(wire: Wire, body: string, { provider, limit }: { provider: string; limit?: number }) {
  const gateway = {
    settings: () => ({
      'admission.service_tier': 'default',
      'admission.host_price': 'listed',
      'passthrough.names': { names: new Set() },
    }),
  };
  const target = {
    provider: { name: provider, basePath: '/v1', wire: 'openai', outputLimit: 'max_tokens', authHeaders: [] },
    model: 'served',
  };
  const admitted = { remaining: 1, quote: { listed: CARD, card: CARD }, limit };
  try {
    const request = wire.parse(Buffer.from(body));
    const context = {
      request,
      wire,
      exchange: { request: { rawHeaders: [] }, target: { path: '/v1/x', query: '' } },
    };
    // buildRequest reads only these parts of the gateway and the attempt.
    const parts = [gateway, { context, target, admitted }] as unknown as Parameters<typeof buildRequest>;
    return buildRequest(...parts).body?.toString('utf8');
  } catch (error) {
    if (error instanceof GwError) return undefined;
    throw error;
  }
}

const SPLICED = ['provider', 'service_tier', 'service', 'stream_options', 'max_tokens', 'max_output_tokens'];
const OTHERS = ['x', '__proto__', 'constructor', 'metadata', 'user'];
const space = fc.constantFrom('', '', ' ', '\n', '\t', '\r\n');
const key = fc.constantFrom(...SPLICED, ...OTHERS).chain((name) => {
  const code = name.charCodeAt(0).toString(16).padStart(4, '0');
  return fc.constantFrom(`"${name}"`, `"${name}"`, `"\\u${code}${name.slice(1)}"`);
});
const value = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc.integer({ min: 1, max: 120 }).map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  fc.constantFrom('null', '[]', '{}', '{ }', '"auto"', '"flex"', '9', '1e999', '"\\ud800"', '"\u{1F600}"'),
  fc.constantFrom('{"route":true}', '{"include_usage":true}', '{ "a" : 1 }', '{"max_price":null}'),
  fc.constantFrom('{"max_price":[]}', '{"order":["a"],"max_price":{"prompt":0.1,"prompt":9}}'),
  fc.constantFrom('{ "max_pr\\u0069ce" : {"completion":"0x9"}, "max_price":{} }', '[{"max_price":{}}]'),
);
const fields = fc.array(fc.tuple(key, value), { maxLength: 5 });

test.each([
  [chatWire, '"messages":[{"role":"user","content":"Hi"}]'],
  [responsesWire, '"input":"Hi"'],
])('edits of a request leave valid JSON, and the rest unchanged: %#', (wire, prompt) => {
  let seen = 0;
  const run = fc.property(
    fields,
    fc.array(space, { minLength: 5, maxLength: 5 }),
    fc.constantFrom('openai', 'openrouter', 'other'),
    fc.constantFrom('', '\ufeff'),
    fc.option(fc.constant(33), { nil: undefined }),
    (more, [a = '', b = '', c = '', d = '', e = ''], provider, bom, limit) => {
      const written = more.map(([name, json]) => `${name}${b}:${c}${json}`);
      const members = ['"stream":true', ...written, `"model":${d}"asked"`, prompt];
      const body = `${bom}${a}{${b}${members.join(`${c},${d}`)}${e}}${a}`;
      const text = sent(wire, body, { provider, ...(limit === undefined ? {} : { limit }) });
      if (text === undefined) return;
      seen++;
      const given = JSON.parse(body.replace(bom, ''));
      const got = JSON.parse(text.replace(bom, ''));
      expect([got.model, Object.hasOwn(got, 'service')]).toEqual(['served', false]);
      for (const [name, json] of more) if (OTHERS.includes(JSON.parse(name))) expect(text).toContain(json);
      for (const name of Object.keys(got)) {
        const mayBeNew = [...SPLICED, 'model'].includes(name);
        expect(mayBeNew || JSON.stringify(got[name]) === JSON.stringify(given[name])).toBe(true);
      }
      if (provider === 'openai') expect(['auto', null, undefined]).not.toContain(got.service_tier);
      if (provider !== 'openrouter') return;
      const { prompt: most, completion } = got.provider.max_price;
      expect(Math.max(Number(most), Number(completion))).toBeLessThanOrEqual(LISTED);
    },
  );
  fc.assert(run, { numRuns: 1_500 });
  expect(seen).toBeGreaterThan(500);
});
