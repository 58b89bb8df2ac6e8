import { expect, test } from 'vitest';
import { responseBody } from '../wire/support/responses-shapes.ts';
import { chunkBody, completionBody, errorBody, usageOf } from './chat-shapes.ts';
import { hasOpenAiSchema, openAiEventFaults, openAiFaults } from './openai-schema.ts';

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
  expect(openAiFaults('CreateChatCompletionResponse', { ...body, choices }).sort()).toEqual([
    'CreateChatCompletionResponse/choices/0/finish_reason: must be equal to one of the allowed values',
    'CreateChatCompletionResponse/created: must be integer',
    "CreateChatCompletionResponse: must have required property 'model'",
    'CreateChatCompletionResponse: unknown field extra',
  ]);
});

test.skipIf(!hasOpenAiSchema)('an event is read as its type says', () => {
  const response = responseBody([], { usage: null, status: 'in_progress' });
  expect(openAiEventFaults({ type: 'response.created', response } as object)).toEqual([
    "ResponseCreatedEvent: must have required property 'sequence_number'",
  ]);
  expect(openAiEventFaults({ type: 'response.unheard' })).toEqual(['there is no event response.unheard']);
});
