import { describe, expect, test } from 'vitest';
import { objectsIn } from '../../src/json/object.ts';
import { DIALECTS } from '../../src/providers/dialects/dialects.ts';
import { createItemMemories } from '../../src/translation/carry/item-memory.ts';
import type { Json } from '../../src/translation/json.ts';
import { dataIn, parseObject } from '../../src/wire/answer/events.ts';
import { chatForGemini, geminiForChat, geminiForMessages } from '../translation/support/translations.ts';

const GEMINI = { dialect: DIALECTS.gemini ?? {}, model: 'gemini-3-pro' };
const USER = { role: 'user', content: 'Hi' };
const CALL = { functionCall: { id: 'c1', name: 'bash', args: { command: 'ls' } } };
const answerOf = (
  parts: object[],
  finishReason = 'STOP',
  usageMetadata: object = { promptTokenCount: 9 },
) => ({
  candidates: [{ content: { parts, role: 'model' }, finishReason, index: 0 }],
  usageMetadata,
});
const partsIn = ({ contents }: Json) => objectsIn(contents).map(({ parts }) => objectsIn(parts));
const callOf = (id: string) => ({ id, type: 'function', function: { name: 'bash', arguments: '{}' } });

/** The next request of a client of messages that brings an answer back with a result. */
function nextRequest(answer: object): Json {
  const memory = createItemMemories()(1);
  const translator = geminiForMessages.answers({ ...GEMINI, memory });
  const { content } = JSON.parse(String(translator.answer(Buffer.from(JSON.stringify(answer)), 200)));
  const results = objectsIn(content).flatMap(({ type, id }) =>
    type === 'tool_use' ? [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] : [],
  );
  const messages = [USER, { role: 'assistant', content }, { role: 'user', content: results }];
  return geminiForMessages.request({ model: 'm', max_tokens: 9, messages }, { ...GEMINI, memory });
}

/** Reports of other gateways' users, by where they are. */
describe('what others reported of Gemini', () => {
  test('BerriAI/litellm#25322: a signature on the thought before a call', () => {
    const next = nextRequest(answerOf([{ text: 'Hm', thought: true, thoughtSignature: 'c2ln' }, CALL]));
    expect(partsIn(next)[1]).toEqual([{ ...CALL, thoughtSignature: 'c2ln' }]);
  });

  test('BerriAI/litellm#17949, mini-swe-agent#918: a signature is no part of its own, and comes back once', () => {
    const second = { functionCall: { ...CALL.functionCall, id: 'c2' } };
    const next = nextRequest(answerOf([{ ...CALL, thoughtSignature: 'c2ln' }, second]));
    expect(partsIn(next).map((parts) => parts.length)).toEqual([1, 2, 2]);
    expect(JSON.stringify(next).match(/thoughtSignature/g)).toHaveLength(1);
  });

  test('BerriAI/litellm#16893: a history of another model gets the stand-in for its first call alone', () => {
    const tool_calls = [callOf('a'), callOf('b')];
    const results = ['a', 'b'].map((tool_call_id) => ({ role: 'tool', tool_call_id, content: 'ok' }));
    const messages = [USER, { role: 'assistant', content: null, tool_calls }, ...results];
    const signatures = (model: string) =>
      partsIn(geminiForChat.request({ model: 'm', messages }, { ...GEMINI, model }))[1]?.map(
        ({ thoughtSignature }) => thoughtSignature,
      );
    expect(signatures('gemini-3-pro')).toEqual(['skip_thought_signature_validator', undefined]);
    expect(signatures('gemini-2.5-pro')).toEqual([undefined, undefined]);
  });

  test('OmniRoute#9221: a signature stands beside the call for a client of Gemini, in base64', () => {
    const extra_content = { google: { thought_signature: 'c2ln' } };
    const message = { role: 'assistant', content: null, tool_calls: [{ ...callOf('a'), extra_content }] };
    const answer = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] };
    const written = chatForGemini.answers().answer(Buffer.from(JSON.stringify(answer)), 200);
    const [part] =
      partsIn({
        contents: objectsIn(JSON.parse(String(written)).candidates).map(({ content }) => content),
      })[0] ?? [];
    expect(part).toMatchObject({ functionCall: { name: 'bash', args: {} } });
    expect(String(part?.thoughtSignature)).toMatch(/^[A-Za-z0-9+/]+=*$/);
  });

  test("BerriAI/litellm#33050: a stream's usage reaches Gemini CLI", () => {
    const chunks = [
      { choices: [{ index: 0, delta: { content: 'Hi' } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      { choices: [], usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } },
    ];
    const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
    const last = dataIn(chatForGemini.answers().events(Buffer.from(`${text}data: [DONE]\n\n`))).at(-1) ?? '';
    expect(parseObject(last)).toMatchObject({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 2, totalTokenCount: 11 },
    });
  });

  test('BerriAI/litellm#16962: cache marks of Claude Code are nothing to Gemini', () => {
    const mark = { cache_control: { type: 'ephemeral' } };
    const body = {
      model: 'm',
      max_tokens: 9,
      system: [{ type: 'text', text: 'a', ...mark }],
      tools: [{ name: 'f', input_schema: { type: 'object' }, ...mark }],
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi', ...mark }] }],
    };
    expect(JSON.stringify(geminiForMessages.request(body, GEMINI))).not.toContain('cache');
  });

  test('schemas with references and constants go as they are', () => {
    const parameters = {
      $defs: { a: { const: 1 } },
      type: 'object',
      properties: { a: { $ref: '#/$defs/a' } },
      additionalProperties: false,
    };
    const tools = [{ type: 'function', function: { name: 'f', parameters } }];
    const sent = geminiForChat.request({ model: 'm', messages: [USER], tools }, GEMINI);
    expect(sent.tools).toEqual([{ functionDeclarations: [{ name: 'f', parametersJsonSchema: parameters }] }]);
  });

  test('an answer that is all thought ends at its limit, with thoughts in its output', () => {
    const usage = { promptTokenCount: 9, thoughtsTokenCount: 90, totalTokenCount: 99 };
    const answer = answerOf([{ text: 'Hm', thought: true }], 'MAX_TOKENS', usage);
    const written = JSON.parse(
      String(geminiForChat.answers(GEMINI).answer(Buffer.from(JSON.stringify(answer)), 200)),
    );
    expect(written).toMatchObject({
      choices: [{ finish_reason: 'length' }],
      usage: { completion_tokens: 90, completion_tokens_details: { reasoning_tokens: 90 } },
    });
  });
});

test.each([
  ['audio/wav', 'A-_A', 'A+/A'],
  ['audio/wav', 'AAA', 'AAA='],
  ['image/png', 'A-_AAA', 'A+/AAA=='],
  ['application/pdf', 'AA==', 'AA=='],
])('inline data of %s in the alphabet of URLs or without padding, %s, is %s', (mimeType, data, base64) => {
  const contents = [{ role: 'user', parts: [{ inlineData: { mimeType, data } }] }];
  const [message] = objectsIn(chatForGemini.request({ model: 'm', contents }).messages);
  const sent = JSON.stringify(message);
  expect(sent).toContain(mimeType.startsWith('audio/') ? `"data":"${base64}"` : `base64,${base64}"`);
});
