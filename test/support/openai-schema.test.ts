import { expect, test } from 'vitest';
import { chunkBody, completionBody, errorBody, usageOf } from './chat-shapes.ts';
import { hasOpenAiSchema, openAiFaults } from './openai-schema.ts';

test.skipIf(!hasOpenAiSchema)('the upstream speaks in shapes of the schema', () => {
  const usage = usageOf(1, 2);
  expect(openAiFaults('CreateChatCompletionResponse', completionBody('m', 'Hi', usage))).toEqual([]);
  const chunk = chunkBody('m', { delta: { content: 'Hi' } }, { usage: null });
  expect(openAiFaults('CreateChatCompletionStreamResponse', chunk)).toEqual([]);
  expect(openAiFaults('ErrorResponse', errorBody('No', 'api_error', null))).toEqual([]);
});

test.skipIf(!hasOpenAiSchema)('faults are named with their place', () => {
  const body = { ...completionBody('m', 'Hi', usageOf(1, 2)), created: '1', extra: 1, model: undefined };
  const choices = [{ ...body.choices[0], finish_reason: 'done' }];
  expect(
    openAiFaults('CreateChatCompletionResponse', JSON.parse(JSON.stringify({ ...body, choices }))),
  ).toEqual([
    'CreateChatCompletionResponse.model: missing',
    'CreateChatCompletionResponse.created: "1" is no integer',
    'CreateChatCompletionResponse.choices[0].finish_reason: not in the enumeration',
    'CreateChatCompletionResponse.extra: unknown',
  ]);
});
