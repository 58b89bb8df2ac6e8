import {
  choicesText,
  endChoicesAtLimit,
  hasChoiceContent,
  inspectChoices,
  isChoiceOver,
} from '../answer/choices.ts';
import { usageMember } from '../answer/usage-member.ts';
import type { Fields } from '../request/fields.ts';
import { beyondLimit, LIMITS } from '../request/output-limits.ts';
import { createParser, renameModel, writeLimit } from '../request/parse.ts';
import { promptReader } from '../request/prompt.ts';
import { reasoningBudget } from '../request/reasoning-budget.ts';
import type { Wire } from '../wire.ts';
import { MAX_CHOICES, TOOLS, UNSEEN } from './chat.ts';

/**
 * OpenAI's completions of before chat: https://platform.openai.com/docs/api-reference/completions/create. OpenRouter
 * takes all of a chat there, its messages too: https://openrouter.ai/docs/api-reference/overview
 */
export const completionsWire: Wire = {
  endpoint: 'completions',
  family: 'openai',
  path: '/completions',
  parse: createParser({
    limits: LIMITS,
    reads: ['prompt', 'messages', 'n', 'best_of', 'prediction', 'reasoning', 'thinking'],
    asksForUsage: true,
    beyondLimit,
    reasoningBudget,
    nonText: UNSEEN,
    tools: TOOLS,
    choices: (fields) => promptsIn(fields) * choicesPerPrompt(fields),
  }),
  renameModel,
  limitOutput: (request, tokens) => writeLimit(request, LIMITS, 'max_tokens', tokens),
  usageOf: usageMember,
  inspect: inspectChoices,
  hasContent: hasChoiceContent,
  isOver: isChoiceOver,
  endAtLimit: endChoicesAtLimit,
  textOf: choicesText,
  promptOf: promptReader({
    read: new Set(['prompt', 'suffix', 'messages']),
    json: new Set(['tools', 'functions']),
  }),
};

/** Each prompt of a list is answered apart; a list of numbers is one prompt in tokens. */
function promptsIn(fields: Fields): number {
  const prompt = fields.read('prompt');
  if (!Array.isArray(prompt) || typeof prompt[0] === 'number') return 1;
  return Math.max(1, prompt.length);
}

/** `best_of` answers are generated and billed, `n` of them are returned. */
function choicesPerPrompt(fields: Fields): number {
  return Math.max(fields.integer('n', 1, MAX_CHOICES) ?? 1, fields.integer('best_of', 1, MAX_CHOICES) ?? 1);
}
