import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'vitest';
import { createAlign } from '../../../src/gateway/admission/edit-bound.ts';
import {
  continuedBound,
  countInput,
  inputBound,
  isCountable,
  leastInput,
  nonTextBound,
  optionsOf,
} from '../../../src/gateway/admission/input-tokens.ts';
import { nonTextOf, promptOf, readPrompt } from '../../../src/gateway/admission/measure-prompt.ts';
import { isChangingName, scopeOf } from '../../../src/gateway/admission/prompt-scope.ts';
import {
  countBound,
  ifCounted,
  type PlanParts,
  planCount,
} from '../../../src/gateway/admission/provider-count.ts';
import { quote } from '../../../src/gateway/admission/quote.ts';
import type { RequestContext } from '../../../src/gateway/context/request-context.ts';
import { countedPrompt } from '../../../src/gateway/learning/remember-prompt.ts';
import { createPromptBases } from '../../../src/gateway/state/prompt-bases.ts';
import type { Target } from '../../../src/gateway/state/resolver.ts';
import { completePrices, createPriceCard } from '../../../src/pricing/price-card.ts';
import { flatRate } from '../../../src/pricing/rate.ts';
import { chatWire } from '../../../src/wire/apis/chat.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import { sealOf } from '../../../src/wire/request/seals.ts';
import type { Wire } from '../../../src/wire/wire.ts';
import { expectFrozen, type Row, variationsOf } from '../../support/frozen.ts';

const row = (name: string, outcome: () => unknown): Row => ({ name, outcome });

/** A request as the stages after intake have it. */
function contextOf(
  body: object,
  wire: Wire = messagesWire,
  headers: IncomingHttpHeaders = {},
): RequestContext {
  const request = wire.parse(Buffer.from(JSON.stringify(body)));
  return { wire, request, exchange: { request: { headers, url: '/v1?a=b' } } } as unknown as RequestContext;
}

function targetAt(name: string, model: string, wire = 'openai', local = false): Target {
  const provider = { name, wire, local, origin: `https://${name}`, basePath: '', authHeaders: [] };
  return { provider, model } as unknown as Target;
}
const CLAUDE = targetAt('anthropic', 'claude-sonnet-4-5', 'anthropic');
const RELAY = targetAt('mine', 'claude-sonnet-4-5', 'anthropic');
const GPT = targetAt('openai', 'gpt-4o');

const words = (word: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${word}${i}`).join(' ');
const THOUGHT = { type: 'thinking', thinking: 'Why not', signature: 'U0lHTkFUVVJF'.repeat(9) };
const REFERENCES = [{ type: 'tool_reference', tool_name: 'late' }];
const IMAGE = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };

/** A prompt with each kind of block. */
const PROMPT = {
  max_tokens: 2_000,
  model: 'claude-sonnet-4-5',
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  tools: [
    { name: 'look', description: words('look', 20), input_schema: { type: 'object' } },
    { name: 'late', description: words('late', 30), input_schema: { type: 'object' }, defer_loading: true },
  ],
  system: [{ type: 'text', text: words('rule', 30) }],
  messages: [
    { role: 'user', content: [{ type: 'text', text: words('question', 20) }] },
    {
      role: 'assistant',
      content: [
        THOUGHT,
        { type: 'text', text: 'So' },
        { type: 'tool_use', id: 'call_1', name: 'look', input: { a: 'é<' } },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: REFERENCES }] },
    { role: 'assistant', content: 'An answer' },
    {
      role: 'user',
      content: [
        IMAGE,
        { type: 'image', source: { type: 'url', url: 'https://x/y.png' } },
        { type: 'text', text: 'More' },
      ],
    },
  ],
};

interface Known {
  target?: Target;
  /** Tokens that the provider has reported of the prompt. */
  tokens?: number;
  sealTokens?: number;
  distrusted?: string[];
  headers?: IncomingHttpHeaders;
}

/** Parts that know a prompt as its provider has counted it. */
function knowing(
  body: object,
  { target = CLAUDE, tokens = 2_500, sealTokens, distrusted = [], headers = {} }: Known,
) {
  const promptBases = createPromptBases({ monotonic: () => 0 });
  const context = contextOf(body, messagesWire, headers);
  const prompt = promptOf(context);
  const scope = prompt && scopeOf(context, target, prompt);
  const base = scope && countedPrompt(promptBases, scope, prompt, { tokens, contextTokens: undefined });
  if (base) promptBases.remember(scope, base, { served: target.model, lifetimeMs: 1_000 });
  const seal = sealOf(THOUGHT);
  if (seal && sealTokens !== undefined) promptBases.rememberSeal(seal.id, sealTokens);
  const boundTrust = { isTrusted: (_: unknown, bound: string) => !distrusted.includes(bound) };
  return { promptBases, boundTrust } as unknown as PlanParts & Parameters<typeof leastInput>[0];
}

/** How a request is bounded, and how a count of it would be, where an earlier one is known. */
function bounded(earlier: object, body: object, known: Known = {}) {
  const { target = CLAUDE, headers } = known;
  const parts = knowing(earlier, known);
  const context = contextOf(body, messagesWire, headers);
  const { tokens, by } = leastInput(parts, context, target);
  const plan = planCount(parts, context, target);
  return {
    bound: `${by} ${tokens}`,
    bytes: inputBound(context, target),
    plan: `${plan.text?.length ?? 'whole'} ${Math.round(plan.least)} ${Math.round(plan.boundOf(100))}`,
  };
}

const others = (value: unknown) => (typeof value === 'string' && /^(?:[a-z]+\d ?)+/.test(value) ? ['x'] : []);
const added = <B extends { messages: readonly object[] }>(body: B): B => ({
  ...body,
  messages: [
    ...body.messages,
    { role: 'assistant', content: [{ type: 'text', text: 'Yes' }] },
    { role: 'user', content: 'And' },
  ],
});
const continued = added(PROMPT);
/** The same without pictures and references. */
const TEXTS = {
  ...PROMPT,
  messages: [
    ...PROMPT.messages.slice(0, 2),
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: 'A result' }] },
    { role: 'user', content: [{ type: 'text', text: words('more', 20) }] },
  ],
} as typeof PROMPT;
const unread = ({ messages }: { messages?: unknown }) => !Array.isArray(messages) || messages.length === 0;

test('how a prompt is bounded by an earlier one, after each change of it', async () => {
  const varied = (name: string, body: typeof PROMPT, known: Known): Row => ({
    name,
    outcome: () => bounded(body, added(body), known),
    variations: Array.from(variationsOf(body, others))
      .filter((other) => !unread(other.value as object))
      .map((other) => ({
        name: other.name.replace(/"(.{9}).*"/, '"$1…"'),
        outcome: () => bounded(body, added(other.value as typeof body), known),
      })),
  });
  await expectFrozen(import.meta.dirname, 'edited-prompts', [
    varied('at Anthropic, the seal known', PROMPT, { sealTokens: 70 }),
    varied('texts alone', TEXTS, { tokens: 400, sealTokens: 70 }),
    row('texts alone, at a relay', () => bounded(TEXTS, added(TEXTS), { target: RELAY })),
    row('texts alone, edits distrusted', () => bounded(TEXTS, added(TEXTS), { distrusted: ['edit'] })),
    row('texts alone, much more', () => bounded(TEXTS, added({ ...TEXTS, system: words('law', 900) }))),
    row('the same again', () => bounded(PROMPT, PROMPT)),
    row('a first one', () => bounded({ ...PROMPT, messages: [] }, PROMPT)),
    row('at a relay', () => bounded(PROMPT, continued, { target: RELAY })),
    row('a seal of more tokens than bytes', () => bounded(PROMPT, continued, { sealTokens: 900 })),
    row('a seal of more tokens than bytes, edits distrusted', () =>
      bounded(PROMPT, continued, { sealTokens: 900, distrusted: ['edit'] }),
    ),
    row('edits distrusted', () => bounded(PROMPT, continued, { distrusted: ['edit'] })),
    row('a count that is too low to be true', () => bounded(PROMPT, continued, { tokens: 20 })),
    row('a light beta gone', () =>
      bounded(PROMPT, continued, { headers: { 'anthropic-beta': 'afk-mode-2025-01-01' } }),
    ),
    row('reordered', () => bounded(PROMPT, { ...PROMPT, messages: PROMPT.messages.toReversed() })),
    row('compacted', () =>
      bounded(continued, { ...PROMPT, messages: [{ role: 'user', content: words('summary', 40) }] }),
    ),
    row('a reference to no tool', () =>
      bounded(PROMPT, {
        ...continued,
        messages: [
          ...PROMPT.messages.slice(0, 2),
          {
            role: 'user',
            content: [
              {
                type: 'tool_result',
                tool_use_id: 'call_1',
                content: [{ type: 'tool_reference', tool_name: 'gone' }],
              },
            ],
          },
        ],
      }),
    ),
  ]);
});

const LISTS: [string, string][] = [
  ['abcd', 'abcd'],
  ['abcd', 'ab'],
  ['abxd', 'abcd'],
  ['axyd', 'abcd'],
  ['abcde', 'abe'],
  ['xabc', 'abc'],
  ['abcabc', 'bc'],
  ['cab', 'abc'],
  ['', 'abc'],
  [`${'a'.repeat(40)}b`, 'ba'],
  [`x${'ab'.repeat(40)}`, `${'ba'.repeat(20)}c`],
];

test('how blocks of a prompt find their place in another, and other bounds', async () => {
  const numbers = (text: string) => Int32Array.from(text, (letter) => letter.charCodeAt(0));
  const say = (content: unknown) => ({ model: 'm', max_tokens: 5, messages: [{ role: 'user', content }] });
  const tokens = { count: async (texts: string[]) => texts.join('').length };
  const inputs: Record<string, [object, Wire, Target]> = {
    'a text': [say('Hi'), chatWire, GPT],
    'a text of another maker': [say('Hi é<'), chatWire, targetAt('mine', 'm')],
    'a large text': [say('Hi é<'.repeat(700)), chatWire, targetAt('mine', 'm')],
    'gpt-oss elsewhere': [say('Hi é<'), chatWire, targetAt('groq', 'openai/gpt-oss-120b')],
    'an image': [
      say([{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }]),
      chatWire,
      GPT,
    ],
    'an image of a response': [
      {
        model: 'm',
        input: [
          {
            role: 'user',
            content: [{ type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }],
          },
        ],
      },
      responsesWire,
      GPT,
    ],
    'a document': [
      say([{ type: 'document', source: { type: 'url', url: 'https://x' } }]),
      messagesWire,
      CLAUDE,
    ],
    'an unknown field': [{ ...say('Hi'), unknown: 'x' }, messagesWire, CLAUDE],
    'a stored response': [{ model: 'm', input: 'Hi', previous_response_id: 'r' }, responsesWire, GPT],
    'tools and skills': [{ ...say('Hi'), tools: [], container: { skills: [] } }, messagesWire, CLAUDE],
    'other models': [{ ...say('Hi'), models: ['a', 'b'] }, chatWire, targetAt('openrouter', 'openai/gpt-4o')],
    'code that is held by rounds': [
      {
        ...say([{ type: 'container_upload', file_id: 'f' }]),
        tools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
      },
      messagesWire,
      CLAUDE,
    ],
  };
  const trusting = { isTrusted: () => true };
  const parts = { tokens, boundTrust: trusting } as unknown as Parameters<typeof countInput>[0];
  const read = async ([body, wire, target]: [object, Wire, Target]) => {
    const context = contextOf(body, wire);
    const bytes = inputBound(context, target);
    const counts = [bytes, 90, 1e9].map((inputTokens) =>
      countInput(parts, context, target, { inputTokens, inputBound: 'bytes' }),
    );
    const { texts, nonText: _nonText, tokens: more, ...rest } = readPrompt(context);
    return {
      bytes: bytes - context.request.bytes.length,
      counts: (await Promise.all(counts)).map(({ tokens, by }) => `${by} ${tokens}`).join(),
      countable: isCountable(context, target),
      nonText: nonTextOf(context),
      tokens: nonTextBound(nonTextOf(context), target),
      ...{ texts: texts.length, more, ...rest },
    };
  };
  const stored = { inputTokens: 100, outputTokens: 20, reasoningTokens: 7, trailingSpace: 3, options: '' };
  const response = (input: unknown, more: object = {}) => {
    const prompt = responsesWire.blocksOf?.(contextOf({ model: 'm', input, ...more }, responsesWire).request);
    if (!prompt) throw new Error('it could not be split');
    return [stored, { ...stored, options: optionsOf(prompt) }].map((each) =>
      continuedBound(each as never, prompt, 50),
    );
  };
  const card = createPriceCard(
    't',
    completePrices({ input: flatRate(1_000_000n), output: flatRate(2_000_000n) }, 'm'),
  );
  const counting = (
    known: number | undefined,
    { mayAsk = true, max = undefined as number | undefined, distrusted = [] as string[] } = {},
  ) => {
    const context = contextOf({ ...PROMPT, max_tokens: max ?? 4_000 });
    if (max === undefined) context.request.maxOutputTokens = undefined;
    const counter = { mayAsk: () => mayAsk, recall: () => known, ask: async () => known };
    const all = { ...knowing(PROMPT, { distrusted }), inputCounter: counter } as unknown as Parameters<
      typeof ifCounted
    >[0];
    const quoteFor = (inputTokens: number) =>
      quote(context.request, {
        ...{ provider: 'anthropic', model: 'm', card, listed: card, priceFactor: 1 },
        inputTokens,
        inputBound: 'bytes',
        minOutputTokens: 50,
      });
    const own = quoteFor(4_000);
    const found = ifCounted(all, context, CLAUDE, quoteFor);
    const rooms = [1_000_000, 4_000_000, 9_000_000];
    const outputs = [60, 100, 199, 200, own.outputTokens];
    return [
      found.least(own, false),
      found.least(own, true),
      ...outputs.map((output) => rooms.map((room) => found.isWorth(own, output, room)).join()),
    ];
  };
  const targets = [
    CLAUDE,
    RELAY,
    GPT,
    targetAt('openrouter', 'x'),
    targetAt('google', 'gemini-3', 'gemini'),
    targetAt('openai', 'gpt-auto'),
    targetAt('ollama', 'x', 'openai', true),
  ];
  const prompt = promptOf(contextOf(PROMPT));
  const bases = createPromptBases({ monotonic: () => 0 });
  await expectFrozen(import.meta.dirname, 'bounds', [
    ...LISTS.map(([a, b]) => row(`${a} in ${b}`, () => [...createAlign(numbers(a))(numbers(b))].join(' '))),
    row('two bases, one after the other', () => {
      const align = createAlign(numbers('axbyc'));
      return [[...align(numbers('abc'))], [...align(numbers('cba'))]];
    }),
    ...Object.entries(inputs).map(([name, input]) => row(name, () => read(input))),
    row('a response goes on', () => response('Hi')),
    row('a response goes on with options', () => response('Hi', { reasoning: { effort: 'low' } })),
    row('a response goes on with an answer', () => response([{ role: 'assistant', content: 'So' }])),
    row('counted before', () => counting(1_000)),
    row('counted before, no less', () => counting(4_000)),
    row('not counted', () => counting(undefined)),
    row('not counted, with a limit', () => counting(undefined, { max: 3_000 })),
    row('not to be asked', () => counting(1_000, { mayAsk: false })),
    row('counts distrusted', () => counting(1_000, { distrusted: ['provider_count'] })),
    ...targets.map((target) =>
      row(`a count at ${target.provider.name} ${target.model}`, () => [
        ...[undefined, prompt].map((each) => countBound(10_000, { prompt: each, target, bases })),
        isChangingName(target),
        prompt && scopeOf(contextOf(PROMPT), target, prompt)?.key.split('\n').slice(0, 3).join(),
      ]),
    ),
    row('reasoning of its own', () => {
      const messages = [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [{ ...THOUGHT, signature: 'gw1.x' }] },
        { role: 'user', content: 'Hi' },
      ];
      const context = contextOf({ ...PROMPT, messages });
      const own = promptOf(context);
      return own && scopeOf(context, CLAUDE, own);
    }),
  ]);
});
