import { test } from 'vitest';
import { enoughFor, fittingHold, toAdmitted } from '../../../src/gateway/admission/fitting-hold.ts';
import { heldNeed, leastNeed } from '../../../src/gateway/admission/need.ts';
import {
  costsNothing,
  feesWith,
  fitInto,
  inputWith,
  type Quote,
  shortestQuote,
  smallRequestCost,
} from '../../../src/gateway/admission/quote.ts';
import { priceProfile } from '../../../src/gateway/admission/quote-request.ts';
import { messagesWire } from '../../../src/wire/apis/messages.ts';
import { responsesWire } from '../../../src/wire/apis/responses.ts';
import { expectFrozen, type Row, variationsOf } from '../../support/frozen.ts';
import { type Case, opened, quoted } from './quoted.ts';

const HI = [{ role: 'user', content: 'Hi' }];

const JSON_FORMAT = { type: 'json_schema', json_schema: { name: 'f', schema: {} } };
const CODE = { type: 'code_execution_20250825', name: 'code_execution' };
const SEARCH = { type: 'web_search_20250305', name: 'web_search' };
const claude = { model: 'anthropic/claude-opus-4-6', wire: messagesWire };
const response = { model: 'openai/gpt-5.4', wire: responsesWire };
const SECTION = { type: 'text', text: 'Hi', cache_control: { type: 'ephemeral', ttl: '1h' } };

const CASES: Record<string, Case> = {
  chat: {
    model: 'openai/gpt-4o',
    body: { messages: HI, max_tokens: 500, n: 2, service_tier: 'priority', response_format: JSON_FORMAT },
  },
  'chat without a limit': { model: 'openai/gpt-4o', body: { messages: HI } },
  'a model whose maximum is unknown': { model: 'mock/test-model', body: { messages: HI } },
  'a price that is unknown': { model: 'mock/other', body: { messages: HI, max_tokens: 5 } },
  'much output': { model: 'mock/test-model', body: { messages: HI, max_tokens: 100_000 } },
  'a model that passed its limits': {
    ...{ model: 'openai/gpt-4o', distrusted: ['output'] },
    body: { messages: HI, max_tokens: 500 },
  },
  'a model that passed its maximum': {
    ...{ model: 'openai/gpt-4o', distrusted: ['maximum'] },
    body: { messages: HI },
  },
  'a model that cost more than listed': {
    model: 'openai/gpt-4o',
    tenths: 25,
    body: { messages: HI, max_tokens: 500 },
  },
  'a long input': { model: 'openai/gpt-5.4', inputTokens: 300_000, body: { messages: HI, max_tokens: 500 } },
  'OpenRouter, other models': {
    model: 'openrouter/openai/gpt-4o',
    body: { messages: HI, max_tokens: 500, models: ['openai/gpt-4.1', 'anthropic/claude-opus-4.6'] },
  },
  'OpenRouter, an unknown model besides': {
    model: 'openrouter/openai/gpt-4o',
    body: { messages: HI, max_tokens: 500, models: ['nobody/nothing'] },
  },
  'OpenRouter, searches online': { model: 'openrouter/openai/gpt-4o:online', body: { messages: HI } },
  'OpenRouter, documents': {
    model: 'openrouter/openai/gpt-4o',
    body: {
      max_tokens: 50,
      messages: [
        { role: 'user', content: [{ type: 'file', file: { file_data: 'data:application/pdf;base64,AA' } }] },
      ],
    },
  },
  'a model that searches': { model: 'openai/gpt-4o-search-preview', body: { messages: HI, max_tokens: 50 } },
  'a preset': { model: 'openrouter/@preset/mine', body: { messages: HI } },
  'Groq, a system': { model: 'groq/groq/compound', body: { messages: HI } },
  'Perplexity, research': { model: 'perplexity/sonar-deep-research', body: { messages: HI } },
  'a message': {
    ...claude,
    body: {
      system: [SECTION],
      messages: HI,
      max_tokens: 8_000,
      thinking: { type: 'enabled', budget_tokens: 3_000 },
    },
  },
  'a message to Sonnet 4.5': {
    ...{ model: 'anthropic/claude-sonnet-4-5', wire: messagesWire, inputTokens: 300_000 },
    body: { messages: HI, max_tokens: 500 },
  },
  'a message to Sonnet 4.5, a beta': {
    ...{ model: 'anthropic/claude-sonnet-4-5', wire: messagesWire, inputTokens: 300_000 },
    headers: { 'anthropic-beta': 'context-1m-2025-08-07' },
    body: { messages: HI, max_tokens: 500 },
  },
  'a message, other models': {
    ...claude,
    body: { messages: HI, max_tokens: 500, fallbacks: [{ model: 'claude-sonnet-4-5' }] },
  },
  'a message that searches': {
    ...claude,
    body: { messages: HI, max_tokens: 500, tools: [{ ...SEARCH, max_uses: 3 }] },
  },
  'a message that searches without a limit': {
    ...claude,
    body: { messages: HI, max_tokens: 500, tools: [SEARCH] },
  },
  'a message that runs code': { ...claude, body: { messages: HI, max_tokens: 500, tools: [CODE] } },
  'a message that runs code, streamed': {
    ...claude,
    body: { messages: HI, max_tokens: 500, stream: true, tools: [CODE] },
  },
  'a message that runs code which grew': {
    ...{ ...claude, distrusted: ['code'] },
    body: { messages: HI, max_tokens: 500, tools: [CODE] },
  },
  'a response that searches': {
    ...response,
    body: {
      ...{ input: 'Hi', max_output_tokens: 900, max_tool_calls: 3, reasoning: { effort: 'low' } },
      tools: [{ type: 'web_search' }, { type: 'file_search', vector_store_ids: ['v'] }],
    },
  },
  'a response that searches without a limit': {
    ...response,
    body: { input: 'Hi', max_output_tokens: 900, tools: [{ type: 'web_search' }] },
  },
  'a response of a stored prompt': { ...response, body: { input: 'Hi', prompt: { id: 'p' } } },
  'a response with a container': {
    ...response,
    body: {
      ...{ input: 'Hi', max_output_tokens: 900 },
      tools: [
        { type: 'code_interpreter', container: { type: 'auto', memory_limit: '4g' } },
        { type: 'image_generation' },
      ],
    },
  },
  'a response with an unknown tool': { ...response, body: { input: 'Hi', tools: [{ type: 'new_tool' }] } },
  'xAI ignores limits': {
    ...{ model: 'xai/grok-4', wire: responsesWire },
    body: { input: 'Hi', max_output_tokens: 900, max_tool_calls: 2, tools: [{ type: 'x_search' }] },
  },
  'a sandbox for nothing': { model: 'sandbox/free', body: { messages: HI } },
  'a sandbox for nothing, with tools': {
    ...{ model: 'sandbox/free', wire: responsesWire },
    body: { input: 'Hi', tools: [{ type: 'web_search' }] },
  },
  "Azure's router": { model: 'azure/model-router', body: { messages: HI, max_tokens: 50 } },
};

const rate = ({ card }: Quote) =>
  card && [String(card.dearest.input.picoUsd), String(card.dearest.output.picoUsd), card.source];

/** A quote in figures. */
function figures({ context, target, quote }: ReturnType<Awaited<ReturnType<typeof quoted>>>) {
  const { tools, card: _card, listed, fallbacks, inputTokens, inputBound: _bound, ...rest } = quote;
  return {
    ...rest,
    rate: rate(quote),
    fallbacks: fallbacks?.length,
    profile: listed && Object.values(priceProfile(context, target, listed)).join(),
    tools: tools && {
      ...{
        calls: tools.calls,
        least: tools.leastCalls,
        added: tools.addedTokens,
        unknown: tools.unknown?.name,
      },
      limit: tools.limit,
      at: [0, 1, 2, tools.calls].map(
        (calls) => `${feesWith(quote, calls)} ${inputWith(quote, calls) - inputTokens}`,
      ),
    },
  };
}

/** What becomes of a quote in budgets with room for all, nearly all, half and the least of it. */
function rooms({ gateway, context, target, quote }: ReturnType<Awaited<ReturnType<typeof quoted>>>) {
  const { request } = context;
  const minOutputTokens = 50;
  const { leastOutputTokens } = shortestQuote(quote, request, {
    provider: target.provider.name,
    minOutputTokens,
  });
  const need = Object.values(leastNeed(quote, quote.least, request.maxOutputTokens) ?? {}).join(' ');
  return [
    ...[
      leastOutputTokens,
      smallRequestCost(quote, minOutputTokens),
      costsNothing(quote),
      enoughFor(quote),
      need,
    ],
    ...[quote.amount, quote.amount - 1, Math.floor(quote.amount / 2), quote.least, quote.least - 1].map(
      (room) => {
        const fit = fitInto(quote, room);
        const hold = fittingHold(gateway, quote);
        const held = hold.fitInto(room);
        if (held === undefined) return fit?.amount ?? 'no room';
        const { limit, calls } = toAdmitted(context, quote, held, { amount: held.amount, remaining: 5 });
        const needed = Object.values(heldNeed(request, quote, held) ?? {}).join(' ');
        return `${fit?.outputTokens} ${fit?.calls}, ${held.amount} ${limit} ${calls}, ${needed}`;
      },
    ),
  ];
}

test('what requests are quoted and held at, and those in which one thing differs', async () => {
  const parts = await opened();
  const rows: Row[] = [];
  for (const [name, each] of Object.entries(CASES)) {
    const quote = await quoted(parts, each);
    const others = (value: unknown) => (typeof value === 'number' ? [1, 50 * value] : []);
    const variations: Row[] = [];
    for (const other of variationsOf(each.body, others)) {
      if (/^-(?:messages|input|max_tokens)/.test(other.name)) continue;
      const changed = await quoted(parts, { ...each, body: other.value as Case['body'] }).catch(
        () => undefined,
      );
      if (changed) variations.push({ name: other.name, outcome: () => figures(changed()) });
    }
    rows.push({ name, outcome: () => figures(quote()), variations });
    rows.push({ name: `${name}, in budgets`, outcome: () => rooms(quote()) });
  }
  await expectFrozen(import.meta.dirname, 'quotes', rows);
});
