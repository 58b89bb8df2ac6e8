import { join } from 'node:path';
import { type Connecting, FREE_MODEL, membersOf } from './connecting.ts';

/** Claude Code: the `env` of its settings, which beats the shell. https://code.claude.com/docs/en/settings */
export const connectClaude: Connecting = {
  needsModel: false,
  edits: ({ env, home, origin, key, model }) => [
    {
      path: join(env.CLAUDE_CONFIG_DIR || join(home, '.claude'), 'settings.json'),
      format: 'json',
      changes: membersOf(['env'], {
        ANTHROPIC_BASE_URL: origin,
        ANTHROPIC_AUTH_TOKEN: key,
        // Otherwise a key of the user's goes out beside the token.
        ANTHROPIC_API_KEY: '',
        ...(model && { ANTHROPIC_MODEL: model }),
      }),
    },
  ],
  proof: (model = FREE_MODEL) => ({ model }),
  notes: () => ["a project's .claude/settings.json that sets ANTHROPIC_BASE_URL goes around gw"],
};
