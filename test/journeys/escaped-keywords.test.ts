import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { inputBound } from '../../src/gateway/admission/input-tokens.ts';
import { quoteRequest } from '../../src/gateway/admission/quote-request.ts';
import { referencesInText } from '../../src/gateway/objects/references.ts';
import { withPlainLetters } from '../../src/json/plain-letters.ts';
import { createKey } from '../../src/store/accounts/keys.ts';
import { chatWire } from '../../src/wire/apis/chat.ts';
import { completionsWire } from '../../src/wire/apis/completions.ts';
import { embeddingsWire } from '../../src/wire/apis/embeddings.ts';
import { messagesWire } from '../../src/wire/apis/messages.ts';
import { responsesWire } from '../../src/wire/apis/responses.ts';
import { modelsIn } from '../../src/wire/request/named-models.ts';
import { type Dice, diceOf } from '../fuzz/dice.ts';
import { startGateway } from '../support/gateway.ts';
import { type GatewayParts, openGatewayParts } from '../support/gateway-parts.ts';
import { json } from '../support/scripts.ts';

const LONG = Boolean(process.env.GW_LONG);
const SEED = Number(process.env.GW_SEED ?? 7);
/** Pairs that one key sends. */
const A_KEY = 40;
const SRC = join(import.meta.dirname, '../../src');
/** Where bodies are read, checked, priced and changed. */
const FOLDERS = [
  ...['json', 'pricing', 'providers', 'wire/request', 'wire/apis', 'gateway/admission', 'gateway/intake'],
  ...['gateway/objects', 'gateway/pass-through', 'gateway/routing', 'gateway/upstream', 'translation'],
];

const sources = FOLDERS.flatMap((folder) =>
  readdirSync(join(SRC, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => readFileSync(join(SRC, folder, file), 'utf8')),
);

/** Every word that the code names: members, values, types, parts of names. */
const KEYWORDS = [
  ...new Set(
    sources.flatMap((source) =>
      [...source.replace(/^import .*$|\} from .*$/gm, '').matchAll(/'([A-Za-z_][\w.:/-]{1,40})'/g)].map(
        ([, word = '']) => word,
      ),
    ),
  ),
].sort();

/** Where a keyword may stand, as a key or as a value. */
const PLACES: readonly [wire: keyof typeof WIRES, body: string][] = [
  ['chat', '{"model":"MODEL","messages":[{"role":"user","content":"hi"}],"WORD":9}'],
  [
    'chat',
    '{"model":"MODEL","messages":[{"role":"user","content":"hi"}],"WORD":{"model":"dear","type":"x"}}',
  ],
  ['chat', '{"model":"MODEL","messages":[{"role":"user","content":"hi"}],"x":{"WORD":"file-abc123456789"}}'],
  ['chat', '{"model":"MODEL","messages":[{"role":"user","content":"hi"}],"service_tier":"WORD"}'],
  [
    'chat',
    '{"model":"MODEL","messages":[{"role":"user","content":[{"type":"WORD","WORD":{"url":"https://x.test/1"}}]}]}',
  ],
  [
    'chat',
    '{"model":"MODEL","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"a","detail":"WORD"}}]}]}',
  ],
  [
    'chat',
    '{"model":"MODEL","messages":[{"role":"WORD","content":"hi","WORD":"a"}],"tools":[{"type":"WORD","name":"f"}]}',
  ],
  [
    'responses',
    '{"model":"MODEL","input":[{"type":"WORD","id":"msg_abc123456789"}],"tools":[{"type":"WORD"}]}',
  ],
  [
    'responses',
    '{"model":"MODEL","input":[{"role":"user","content":[{"type":"WORD","WORD":"file-abc123456789"}]}]}',
  ],
  ['responses', '{"model":"MODEL","input":"hi","WORD":"resp_abc123456789"}'],
  [
    'messages',
    '{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"WORD","WORD":"x"}}]}]}',
  ],
  [
    'messages',
    '{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"x","WORD":{"type":"WORD","ttl":"1h"}}]}]}',
  ],
  [
    'messages',
    '{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"WORD","WORD":true}]}',
  ],
  [
    'messages',
    '{"model":"MODEL","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"WORD":{"type":"enabled","budget_tokens":5000}}',
  ],
  ['completions', '{"model":"MODEL","prompt":"hi","WORD":3}'],
  ['embeddings', '{"model":"MODEL","input":[{"type":"WORD","WORD":"https://x.test/1"}],"WORD":"x"}'],
];
const WIRES = {
  chat: chatWire,
  completions: completionsWire,
  embeddings: embeddingsWire,
  messages: messagesWire,
  responses: responsesWire,
};

/** JSON with some of its letters escaped, in one way or the other. */
function spelled(text: string, dice: Dice): string {
  const share = dice.pick([0.05, 0.3, 1]);
  return text.replace(/[\w.:/-](?=[^"]*"(?:[^"]*"[^"]*")*[^"]*$)/g, (letter) => {
    if (!dice.chance(share)) return letter;
    const hex = letter.charCodeAt(0).toString(16).padStart(4, '0');
    return `\\u${dice.chance(0.5) ? hex : hex.toUpperCase()}`;
  });
}

function pairsOf(dice: Dice, words: readonly string[]) {
  return words.flatMap((word) =>
    PLACES.map(([wire, body]) => {
      const plain = body.replace('MODEL', 'mock/test-model').replaceAll('WORD', word);
      return { word, wire, plain, escaped: spelled(plain, dice) };
    }),
  );
}

/** What gw makes of a body: the refusal, or all that money, rights and routes depend on. */
async function meaningOf(
  { gateway, contextOf, targetOf }: GatewayParts,
  wire: keyof typeof WIRES,
  bytes: Buffer,
) {
  const context = contextOf({ model: 'mock/test-model', messages: [{ role: 'user', content: 'hi' }] });
  try {
    const request = WIRES[wire].parse(bytes);
    Object.assign(context, { wire: WIRES[wire], request });
    const target = await targetOf('mock/test-model');
    const bound = inputBound(context, target);
    const quote = quoteRequest(gateway, context, target)(bound);
    const { nonText, surcharges, cacheWrites, choices, maxOutputTokens, stream, options } = request;
    const { named, seen } = referencesInText(bytes.toString());
    return {
      ...{ nonText, surcharges, cacheWrites, choices, maxOutputTokens, stream, options, bound },
      ...{ amount: quote.amount, unpriced: quote.unpriced, models: modelsIn(bytes, request.members) },
      ...{ named: [...named], seen: [...seen], tools: request.serverTools?.tools.map(({ name }) => name) },
    };
  } catch (error) {
    if (error instanceof GwError) return { code: error.code, param: error.param };
    throw error;
  }
}

/** The words that mean something else to gw when they are escaped, where bodies are read by `read`. */
async function differing(
  parts: GatewayParts,
  read: (bytes: Buffer) => Buffer,
  among: readonly string[] = KEYWORDS,
): Promise<Set<string>> {
  const words = new Set<string>();
  for (const { word, wire, plain, escaped } of pairsOf(diceOf(SEED, 1), among)) {
    if (words.has(word)) continue;
    const before = await meaningOf(parts, wire, read(Buffer.from(plain)));
    const after = await meaningOf(parts, wire, read(Buffer.from(escaped)));
    if (JSON.stringify(after) !== JSON.stringify(before)) words.add(word);
  }
  return words;
}

describe('a keyword that is spelled with escapes', () => {
  // A sixth of them by the seed; npm run test:long has all.
  const words = process.env.GW_LONG ? KEYWORDS : KEYWORDS.filter((_, i) => i % 6 === SEED % 6);

  test(`means the same: ${words.length} words in ${PLACES.length} places`, async () => {
    const parts = await openGatewayParts({ alone: true });
    expect(KEYWORDS.length).toBeGreaterThan(600);
    expect([...(await differing(parts, withPlainLetters, words))]).toEqual([]);
    // Without that, they do not.
    const some = [
      'image_url',
      'file_id',
      'cache_control',
      'web_search',
      'item_reference',
      'tools',
      'cached_content',
    ];
    expect([...(await differing(parts, (bytes) => bytes, some))].sort()).toEqual(some.toSorted());
  });

  test('has no letter that stays escaped, if it is searched for in bytes', () => {
    const searched = sources.flatMap((source) =>
      [...source.matchAll(/Buffer\.from\('((?:[^'\\]|\\.)+)'\)/g)].map(([, word = '']) => word),
    );
    expect(searched.length).toBeGreaterThan(15);
    // Quotes and braces are ends; the others are of forms, events and escapes.
    const others = ['}', '\\r\\n\\r\\n', '\\\\u', 'u00', '\\\\u00'];
    const odd = searched.filter((word) => !others.includes(word) && !/^[\w.:/"-]+$/.test(word));
    expect(odd).toEqual([]);
  });

  const count = LONG ? 5_000 : 60;
  test(`gets the same answer, hold and record from a daemon: ${count} pairs`, async () => {
    const gateway = await startGateway({ budget: { period: 'daily', capUsd: 1_000_000 } });
    gateway.upstream.script(json(200, { choices: [], usage: { prompt_tokens: 9, completion_tokens: 1 } }));
    const dice = diceOf(SEED, 2);
    const path = (wire: keyof typeof WIRES) => `/v1/${WIRES[wire].endpoint}`;
    // Many refusals of one key share a record.
    const keys: string[] = [];
    for (let i = 0; i < count; i += A_KEY) {
      const { key } = await createKey(gateway.db, { projectId: gateway.project.id, now: Date.now() });
      keys.push(key);
    }
    const differences: unknown[] = [];
    for (let i = 0; i < count; i++) {
      const [pair] = [dice.pick(pairsOf(dice, [dice.pick(KEYWORDS)]))];
      const answers = [];
      const authorization = `Bearer ${keys[Math.floor(i / A_KEY)]}`;
      const headers = { 'content-type': 'application/json', authorization };
      for (const body of [pair.plain, pair.escaped]) {
        const answer = await gateway.post(body, { path: path(pair.wire), headers });
        answers.push([answer.status, answer.text().replace(/req_\w+|\b[\w-]{20,}\b/g, 'ID')]);
      }
      if (JSON.stringify(answers[0]) !== JSON.stringify(answers[1])) differences.push([pair, answers]);
    }
    expect(differences).toEqual([]);
    const records = await gateway.settled(2 * count);
    const kept = records.map(
      ({ status, outcome, flags, holdNanoUsd, costNanoUsd, detail, model, askedModel }) =>
        JSON.stringify({ status, outcome, flags, holdNanoUsd, costNanoUsd, detail, model, askedModel }),
    );
    expect(kept.filter((record, i) => i % 2 === 1 && record !== kept[i - 1])).toEqual([]);
    const sent = gateway.upstream.requests
      .filter(({ path: at }) => !/tokens$/.test(at))
      .map(({ body }) => body.toString());
    expect(sent.length).toBeGreaterThan(count / 2);
    expect(sent.filter((body, i) => i % 2 === 1 && body !== sent[i - 1])).toEqual([]);
  }, 3_600_000);
});

describe('a body in another encoding', () => {
  const BODIES = {
    '/v1/chat/completions':
      '{"model":"mock/test-model","messages":[{"role":"user","content":"hi"}],"max_tokens":9}',
    '/v1/complete': '{"model":"mock/test-model","messages":[{"role":"user","content":"hi"}],"max_tokens":9}',
    '/v1/completions': '{"model":"mock/test-model","prompt":"hi","max_tokens":9}',
    '/v1/responses': '{"model":"mock/test-model","input":"hi"}',
    '/v1/responses/compact': '{"model":"mock/test-model","input":"hi"}',
    '/v1/messages': '{"model":"mock/test-model","messages":[{"role":"user","content":"hi"}],"max_tokens":9}',
    '/v1/embeddings': '{"model":"mock/test-model","input":"hi"}',
  };
  const wide = (text: string, size: 2 | 4, isBig: boolean) => {
    const bytes = Buffer.alloc(text.length * size);
    for (let i = 0; i < text.length; i++) bytes[i * size + (isBig ? size - 1 : 0)] = text.charCodeAt(i);
    return bytes;
  };
  const within = (text: string, bytes: number[], at = text.indexOf('mo') + 1) =>
    Buffer.concat([Buffer.from(text.slice(0, at)), Buffer.from(bytes), Buffer.from(text.slice(at))]);
  const ENCODINGS: Record<string, (text: string) => Buffer> = {
    'UTF-16LE': (text) => wide(text, 2, false),
    'UTF-16BE': (text) => wide(text, 2, true),
    'UTF-16LE with a mark': (text) => wide(`\ufeff${text}`, 2, false).fill(0xfe, 1, 2),
    'UTF-16BE with a mark': (text) => Buffer.concat([Buffer.from([0xfe, 0xff]), wide(text, 2, true)]),
    'UTF-32LE': (text) => wide(text, 4, false),
    'UTF-32BE': (text) => wide(text, 4, true),
    'a byte that no UTF-8 has, in a key': (text) => within(text, [0xff]),
    'an overlong letter': (text) => within(text, [0xc1, 0xaf]),
    'an overlong zero': (text) => within(text, [0xc0, 0x80]),
    'a surrogate': (text) => within(text, [0xed, 0xa0, 0x80]),
    'the beginning of a letter': (text) => within(text, [0xe2, 0x82]),
    'a byte that no UTF-8 has, in a text': (text) => within(text, [0xff], text.indexOf('hi') + 1),
    'a byte that no UTF-8 has, in an unknown field': (text) =>
      Buffer.concat([Buffer.from(text.slice(0, -1)), Buffer.from(',"m\xffodels":["dear"]}', 'latin1')]),
  };

  test.each(Object.keys(ENCODINGS))('is refused at every endpoint: %s', async (encoding) => {
    const gateway = await startGateway({ alone: true });
    for (const [path, body] of Object.entries(BODIES)) {
      const bytes = (ENCODINGS[encoding] as (text: string) => Buffer)(body);
      const answer = await gateway.post(bytes, { path, headers: { 'content-type': 'application/json' } });
      expect([path, answer.status, answer.json()]).toMatchObject([
        path,
        400,
        { error: { code: 'invalid_json' } },
      ]);
    }
    expect(gateway.upstream.requests).toEqual([]);
  });

  test.each(['utf-16', 'utf-7', 'iso-8859-1', 'ibm037'])('is refused by its charset: %s', async (charset) => {
    const gateway = await startGateway({ alone: true });
    for (const path of [...Object.keys(BODIES), '/v1/moderations', '/v1/batches']) {
      const headers = { 'content-type': `application/json; charset=${charset}` };
      expect([path, (await gateway.post('{}', { path, headers })).status]).toEqual([path, 415]);
    }
  });
});
