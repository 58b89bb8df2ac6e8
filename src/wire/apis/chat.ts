import { badRequest } from '../../errors.ts';
import type { Edit } from '../../json/edit.ts';
import type { Member } from '../../json/scan.ts';
import {
  choicesText,
  endChoicesAtLimit,
  hasChoiceContent,
  inspectChoices,
  isChoiceOver,
} from '../answer/choices.ts';
import { usageMember } from '../answer/usage-member.ts';
import { checkList } from '../request/fields.ts';
import type { NonTextWords } from '../request/non-text-input.ts';
import { beyondLimit, LIMITS } from '../request/output-limits.ts';
import { createParser, renameModel, writeLimit } from '../request/parse.ts';
import { promptReader } from '../request/prompt.ts';
import { reasoningBudget } from '../request/reasoning-budget.ts';
import type { ToolShape } from '../request/server-tools.ts';
import type { Wire } from '../wire.ts';

export const MAX_CHOICES = 128;
/** What is read by its address, and Azure's own data. */
const READ_BY_ADDRESS = ['video_url', 'file_url', 'pdf_url', 'document_url', 'data_sources'];
/** Google's tools have no type; these are their keys. */
const GOOGLE_TOOLS = [
  'google*',
  'url_context*',
  'urlContext*',
  'code_execution*',
  'codeExecution*',
  'enterprise*',
];
export const UNSEEN: NonTextWords = {
  images: ['image_url'],
  // The last are how the ids of earlier spoken answers begin, and videos and sounds by their address.
  context: [
    'file_id',
    'file_data',
    'web_search_options',
    'audio_*',
    'cached_content*',
    ...READ_BY_ADDRESS,
    ...GOOGLE_TOOLS,
  ],
};
export const TOOLS: ToolShape = {
  limit: 'none',
  fields: {
    web_search_options: 'chat_search',
    plugins: 'plugins',
    search_parameters: 'search_parameters',
    // Alibaba's and Cohere's.
    enable_search: 'enable_search',
    connectors: 'connectors',
    // Where Google's own fields are.
    extra_body: 'extra_body',
  },
};

/** OpenAI's chat completions: https://platform.openai.com/docs/api-reference/chat/create */
export const chatWire: Wire = {
  endpoint: 'chat/completions',
  family: 'openai',
  path: '/chat/completions',
  parse: createParser({
    limits: LIMITS,
    reads: ['messages', 'n', 'best_of', 'temperature', 'deferred', 'prediction', 'reasoning', 'thinking'],
    asksForUsage: true,
    check(fields, bytes) {
      checkList(bytes, fields, 'messages', 'the conversation to answer');
      const temperature = fields.read('temperature');
      if (temperature !== undefined && typeof temperature !== 'number') {
        throw badRequest('"temperature" must be a number', 'temperature', 'invalid_type');
      }
      if (fields.boolean('deferred')) {
        throw badRequest(
          '"deferred": true is not possible through gw: the answer would come when nobody accounts for it. Leave it out',
          'deferred',
          'unsupported_value',
        );
      }
    },
    beyondLimit,
    reasoningBudget,
    // Some generate and bill `best_of` answers, as in the API of before.
    choices: (fields) =>
      Math.max(fields.integer('n', 1, MAX_CHOICES) ?? 1, fields.integer('best_of', 1, MAX_CHOICES) ?? 1),
    nonText: UNSEEN,
    tools: TOOLS,
  }),
  renameModel,
  limitOutput: (request, tokens, field) => writeLimit(request, LIMITS, field, tokens),
  // OpenAI takes both, and says so where it does not; of the others, some pass over the newer name.
  nameLimit: ({ members }, field) => (field === 'max_tokens' ? renameLimit(members) : []),
  usageOf: usageMember,
  inspect: inspectChoices,
  hasContent: hasChoiceContent,
  isOver: isChoiceOver,
  endAtLimit: endChoicesAtLimit,
  textOf: choicesText,
  form: 'chat',
  messagesOf: ({ members }) => members.find(({ key }) => key === 'messages'),
  promptOf: promptReader({
    read: new Set(['messages']),
    json: new Set(['tools', 'functions', 'response_format', 'prediction']),
    stored: new Set(['web_search_options', 'extra_body', 'cached_content', 'cachedContent', 'data_sources']),
  }),
};

function renameLimit(members: readonly Member[]): Edit[] {
  const written = members.filter(({ key }) => LIMITS.includes(key));
  const [only] = written;
  if (!only || written.length > 1 || only.key === 'max_tokens') return [];
  return [{ start: only.keyStart, end: only.start, text: '"max_tokens":' }];
}
