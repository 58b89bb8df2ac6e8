import { badRequest } from '../../errors.ts';
import type { Edit } from '../../json/edit.ts';
import type { Member } from '../../json/scan.ts';
import { checkList } from '../request/fields.ts';
import type { NonTextMarkers } from '../request/non-text-input.ts';
import { beyondLimit, choicesPerPrompt, LIMITS, reasoningBudget } from '../request/output-limits.ts';
import { createParser, renameModel, writeLimit } from '../request/parse.ts';
import { promptReader } from '../request/prompt.ts';
import { findUnseen, splitPrompt } from '../request/prompt-blocks.ts';
import type { ToolShape } from '../request/server-tools.ts';
import type { Wire } from '../wire.ts';
import { CHAT_BLOCKS } from './chat-blocks.ts';
import { choiceAnswers } from './choice-answers.ts';

/** Input fetched by the provider: media by URL, and Azure's data sources. */
const FETCHED = ['video_url', 'file_url', 'pdf_url', 'document_url', 'data_sources'];
/** Keys of Google's tools, which have no `type`. */
// biome-ignore format: they fit a few lines
const GOOGLE_TOOLS = [
  'google*', 'url_context*', 'urlContext*', 'code_execution*', 'codeExecution*', 'enterprise*',
];
export const NON_TEXT: NonTextMarkers = {
  images: ['image_url'],
  // `audio_*` matches the ids of earlier audio responses, and audio by URL.
  // biome-ignore format: they fit a few lines
  context: [
    'file_id', 'file_data', 'web_search_options', 'audio_*', 'cached_content*', ...FETCHED, ...GOOGLE_TOOLS,
  ],
};
export const TOOLS: ToolShape = {
  limit: 'none',
  fields: {
    web_search_options: 'chat_search',
    plugins: 'plugins',
    search_parameters: 'search_parameters',
    // Alibaba's.
    enable_search: 'enable_search',
    // Cohere's.
    connectors: 'connectors',
    // Contains Google's fields.
    extra_body: 'extra_body',
  },
};

/** OpenAI's chat completions: https://platform.openai.com/docs/api-reference/chat/create */
export const chatWire: Wire = {
  endpoint: 'chat/completions',
  family: 'openai',
  path: '/chat/completions',
  ...createParser({
    limits: LIMITS,
    fields: ['messages', 'n', 'best_of', 'temperature', 'deferred', 'prediction', 'reasoning', 'thinking'],
    usageOnRequest: true,
    check(fields, bytes) {
      checkList(bytes, fields, 'messages', 'send the conversation in it');
      const temperature = fields.read('temperature');
      if (temperature !== undefined && typeof temperature !== 'number')
        throw badRequest('"temperature" must be a number', 'temperature', 'invalid_type');
      if (fields.boolean('deferred')) {
        throw badRequest(
          '"deferred": true is not supported: gw could not book an answer that is fetched later. Remove the field',
          'deferred',
          'unsupported_value',
        );
      }
    },
    beyondLimit,
    reasoningBudget,
    choices: choicesPerPrompt,
    nonText: NON_TEXT,
    tools: TOOLS,
  }),
  renameModel,
  limitOutput: (request, tokens, field) => writeLimit(request, LIMITS, field, tokens),
  // OpenAI rejects a limit that it doesn't support, but some other providers ignore the newer field.
  nameLimit: ({ members }, field) => (field === 'max_tokens' ? renameLimit(members) : []),
  limitTotal: (request, tokens) => [
    ...(request.members.some(({ key }) => key === 'max_tokens')
      ? writeLimit(request, ['max_tokens'], 'max_tokens', tokens)
      : []),
    ...writeLimit(request, ['max_completion_tokens'], 'max_completion_tokens', tokens),
  ],
  ...choiceAnswers,
  form: 'chat',
  messagesOf: ({ members }) => members.find(({ key }) => key === 'messages'),
  unseenIn: (request) => findUnseen(request, CHAT_BLOCKS),
  blocksOf: (request, earlier) => splitPrompt(request, CHAT_BLOCKS, earlier),
  promptOf: promptReader({
    read: new Set(['messages']),
    json: new Set(['tools', 'functions', 'response_format', 'prediction']),
    stored: new Set(['web_search_options', 'extra_body', 'cached_content', 'cachedContent', 'data_sources']),
  }),
};

function renameLimit(members: readonly Member[]): Edit[] {
  const limits = members.filter(({ key }) => LIMITS.includes(key));
  const [only] = limits;
  if (!only || limits.length > 1 || only.key === 'max_tokens') return [];
  return [{ start: only.keyStart, end: only.start, text: '"max_tokens":' }];
}
