import { join } from 'node:path';
import { type Connecting, FREE_MODEL, membersOf } from './connecting.ts';

/** aider. https://aider.chat/docs/config/aider_conf.html */
export const connectAider: Connecting = {
  needsModel: false,
  edits: ({ home, origin, key, model }) => [
    {
      path: join(home, '.aider.conf.yml'),
      format: 'yaml',
      changes: [
        ...membersOf([], {
          'openai-api-base': `${origin}/v1`,
          'openai-api-key': key,
          'anthropic-api-key': key,
          ...(model && { model: `openai/${model}`, 'weak-model': `openai/${model}` }),
        }),
        // LiteLLM asks OPENAI_BASE_URL before the address that aider passes on.
        ...[`OPENAI_BASE_URL=${origin}/v1`, `ANTHROPIC_API_BASE=${origin}`].map((value) => ({
          path: ['set-env', { text: value.replace(/=.*/, '=') }],
          value,
        })),
      ],
    },
  ],
  proof: (model) => (model === undefined ? { model: `openai/${FREE_MODEL}` } : {}),
  notes: () => [
    'an .aider.conf.yml or .env in a project, and models of other providers than OpenAI and Anthropic, go around gw',
  ],
};
