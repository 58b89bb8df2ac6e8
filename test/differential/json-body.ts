import type { Dice } from '../fuzz/dice.ts';
import { type JsonMember, type JsonNode, type ObjectNode, objectsIn, print, toNode } from './json-node.ts';

/** What a doubled or added field says: dearer than what stands there, or another thing. */
const DEARER: Readonly<Record<string, unknown[]>> = {
  model: ['mock/dear', 'dear', 'claude/dear', null, ['mock/dear'], ''],
  models: [['mock/dear'], []],
  n: [64, '64', 2.5, null],
  best_of: [64],
  max_tokens: [90_000, '90000', null, 1e30],
  max_completion_tokens: [90_000],
  max_output_tokens: [90_000],
  stream: [true, 'true', 1],
  background: [true, 'true', 1],
  budget_tokens: [99_999],
  type: ['web_search', 'image_url', 'enabled', 'mcp'],
  content: ['dear '.repeat(300)],
  effort: ['high'],
  max_uses: [50],
  service_tier: ['priority'],
  include_usage: [true],
  thinking: [{ type: 'enabled', budget_tokens: 99_999 }],
  reasoning: [{ effort: 'high', max_tokens: 99_999 }],
  tools: [[{ type: 'web_search' }]],
  messages: [[{ role: 'user', content: 'dear '.repeat(300) }]],
  role: ['system'],
};
const FIELDS = Object.keys(DEARER);

const TOOL = {
  type: 'function',
  function: {
    name: 'pick',
    parameters: { type: 'object', properties: { model: { type: 'string' }, ID: { type: 'string' } } },
  },
};
const FLAT_TOOL = { type: 'custom', name: 'pick', input_schema: { type: 'object', properties: {} } };
const PARTS = [{ type: 'text', text: 'hi' }];
const messages = (dice: Dice) => [
  ...(dice.chance(0.3) ? [{ role: 'user', content: 'hi' }] : []),
  { role: 'user', content: dice.chance(0.5) ? PARTS : 'hi' },
];

/** Bodies that gw understands, by endpoint. */
const BASES: Readonly<Record<string, (dice: Dice) => object>> = {
  '/v1/chat/completions': (dice) => ({ messages: messages(dice), max_tokens: 16 }),
  '/v1/completions': () => ({ prompt: 'hi', max_tokens: 16 }),
  '/v1/embeddings': () => ({ input: 'hi' }),
  '/v1/responses': (dice) => ({
    input: dice.chance(0.5) ? 'hi' : [{ role: 'user', content: [{ type: 'input_text', text: 'hi' }] }],
    max_output_tokens: 16,
  }),
  '/v1/responses/compact': () => ({ input: 'hi' }),
  '/v1/messages': (dice) => ({ messages: messages(dice), max_tokens: 16 }),
  '/v1/messages/count_tokens': (dice) => ({ messages: messages(dice) }),
};
const MORE: readonly ((path: string) => object)[] = [
  () => ({ stream: false }),
  () => ({ n: 1 }),
  () => ({ temperature: 1, user: 'me', metadata: { Model: 'x', model: 'y' } }),
  () => ({ thinking: { type: 'enabled', budget_tokens: 1_024 } }),
  () => ({ reasoning: { effort: 'low' } }),
  (path) => ({ tools: [path.startsWith('/v1/messages') ? FLAT_TOOL : TOOL] }),
  () => ({ response_format: { type: 'json_schema', json_schema: { name: 'a', schema: { Type: 1 } } } }),
];

/** The text of a JSON body for an endpoint: one that gw understands, or with a few changes to it. */
export function jsonBody(dice: Dice, path: string): Buffer {
  const model = path.startsWith('/v1/messages') ? 'claude/cheap' : 'mock/cheap';
  const base: object = { model, ...(BASES[path]?.(dice) ?? { input: 'hi' }) };
  for (const more of MORE) if (dice.chance(0.12)) Object.assign(base, more(path));
  const node = toNode(base) as ObjectNode;
  for (let left = dice.pick([0, 1, 1, 1, 2, 3]); left > 0; left--) dice.pick(CHANGES)(dice, node);
  const space = dice.chance(0.1) ? dice.pick([' ', '\r\n\t', '  ', '\f', '\u00a0', '/**/']) : '';
  const bytes = Buffer.from(print(node, space));
  return dice.chance(0.06) ? dice.pick(IN_BYTES)(bytes, dice) : bytes;
}

type Change = (dice: Dice, node: ObjectNode) => void;

const twice: Change = (dice, node) => {
  const { members } = anObject(dice, node);
  const member = dice.pick(members);
  if (member) insert(dice, members, { key: spelled(dice, member.key), value: dearer(dice, member.key) });
};

const added: Change = (dice, node) => {
  const key = dice.pick(FIELDS);
  insert(dice, anObject(dice, node).members, { key: spelled(dice, key), value: dearer(dice, key) });
};

const inEscapes: Change = (dice, node) => {
  const member = dice.pick(anObject(dice, node).members);
  if (!member) return;
  if (dice.chance(0.5)) member.key = escaped(dice, member.key);
  else if (member.value.kind === 'scalar' && member.value.text.startsWith('"'))
    member.value.text = `"${escaped(dice, member.value.text.slice(1, -1))}"`;
};

const inCapitals: Change = (dice, node) => {
  const member = dice.pick(anObject(dice, node).members);
  if (member) member.key = otherCase(dice, member.key);
};

const asNumber: Change = (dice, node) => {
  const numbers = objectsIn(node).flatMap(({ members }) =>
    members.filter(({ value }) => value.kind === 'scalar' && /^\d+$/.test(value.text)),
  );
  const member = dice.pick(numbers);
  const { text } = (member?.value ?? { text: '' }) as { text: string };
  // biome-ignore format: they fit a line
  const spellings = [`${text}.0`, `${text}e0`, `${text}00e-2`, `0${text}`, `+${text}`, `"${text}"`, `-${text}`, `${text}.5`, '0x10', 'NaN', '1e400', '1e3', `${text}n`, '1_000'];
  if (member) member.value = { kind: 'scalar', text: dice.pick(spellings) };
};

const wrapped: Change = (dice, node) => {
  const key = dice.pick(FIELDS);
  const inner: JsonNode = { kind: 'object', members: [{ key, value: dearer(dice, key) }] };
  // biome-ignore format: they fit a line
  const outer = dice.pick(['extra_body', '__proto__', 'constructor', 'provider', 'options', 'metadata', 'config', 'params']);
  insert(dice, node.members, { key: outer, value: inner });
};

const CHANGES: readonly Change[] = [
  twice,
  twice,
  twice,
  added,
  added,
  inEscapes,
  inCapitals,
  asNumber,
  wrapped,
];

/** Changes of the text. */
const IN_BYTES: readonly ((bytes: Buffer, dice: Dice) => Buffer)[] = [
  (bytes) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]),
  (bytes) => Buffer.from(bytes.toString(), 'utf16le'),
  (bytes) => Buffer.from(bytes.toString().replaceAll('"', "'")),
  (bytes) => Buffer.concat([bytes, Buffer.from('{"model":"mock/dear"}')]),
  (bytes) => Buffer.from(`[${bytes}]`),
  (bytes) => Buffer.from(`${bytes.toString().slice(0, -1)},}`),
  (bytes) => Buffer.concat([bytes, Buffer.from('\0')]),
  (bytes, dice) => {
    const at = dice.below(bytes.length);
    const odd = dice.pick([[0xff], [0xc0, 0xaf], [0], [0x5c], [0xed, 0xa0, 0x80], [0x22], [0x0a]]);
    return Buffer.concat([bytes.subarray(0, at), Buffer.from(odd), bytes.subarray(at)]);
  },
];

function anObject(dice: Dice, node: ObjectNode): ObjectNode {
  return dice.chance(0.4) ? node : dice.pick(objectsIn(node));
}

function insert(dice: Dice, members: JsonMember[], member: JsonMember): void {
  members.splice(dice.below(members.length + 1), 0, member);
}

function dearer(dice: Dice, key: string): JsonNode {
  return toNode(dice.pick(DEARER[key] ?? ['dear', 1, null, {}]));
}

function spelled(dice: Dice, key: string): string {
  return dice.pick([key, key, escaped(dice, key), otherCase(dice, key), `${key}[]`, `${key} `]);
}

function otherCase(dice: Dice, key: string): string {
  return dice.pick([
    key.toUpperCase(),
    key.charAt(0).toUpperCase() + key.slice(1),
    key.replace('s', '\u017f'),
    key.replace('k', '\u212a'),
    key.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    key.replaceAll('_', '-'),
  ]);
}

function escaped(dice: Dice, text: string): string {
  return text.replace(/[\w/]/g, (letter) =>
    dice.chance(0.3) ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter,
  );
}
