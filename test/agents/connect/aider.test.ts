import { describe, expect, test } from 'vitest';
import { pointAider } from '../../../src/agents/connect/aider.ts';
import { FOLDER, KEY, ORIGIN, startOf } from './start-of.ts';

const OWN = `OPENAI_API_BASE=${ORIGIN}/v1
OPENAI_BASE_URL=${ORIGIN}/v1
OPENAI_API_KEY=${KEY}
ANTHROPIC_API_BASE=${ORIGIN}
ANTHROPIC_BASE_URL=${ORIGIN}
ANTHROPIC_API_KEY=${KEY}
AIDER_OPENAI_API_BASE=${ORIGIN}/v1
AIDER_OPENAI_API_KEY=${KEY}
AIDER_ANTHROPIC_API_KEY=${KEY}
`;

describe('aider', () => {
  test("gets an env file of this run, after the user's own lines", () => {
    const args = ['--env-file', 'mine.env', '--openai-api-base', 'https://x', '--message', 'hi'];
    const pointing = pointAider(startOf({ args, files: { '/work/mine.env': 'FOO=1\nOPENAI_API_KEY=sk' } }));
    expect(pointing.args).toEqual(['--env-file', `${FOLDER}/aider.env`, '--message', 'hi']);
    expect(pointing.files).toEqual({ 'aider.env': `FOO=1\nOPENAI_API_KEY=sk\n${OWN}` });
    expect(pointing.notes).toEqual([
      "left out --openai-api-base, --openai-api-key, --anthropic-api-key where given: gw's address and key are used",
    ]);
    expect(pointAider(startOf({})).files).toEqual({ 'aider.env': OWN });
  });

  test('names the keys in env files that would go around gw', () => {
    const files = {
      '/work/shop/.git/HEAD': '',
      '/work/shop/.env': 'OPENAI_API_KEY=sk\nexport GEMINI_API_KEY=AIza\nGROQ_API_KEY=\n',
      '/home/me/.env': 'OPENROUTER_API_KEY=sk-or',
    };
    expect(pointAider(startOf({ cwd: '/work/shop/api', files })).notes).toEqual([
      '/home/me/.env sets OPENROUTER_API_KEY: what uses them goes around gw',
      '/work/shop/.env sets GEMINI_API_KEY: what uses them goes around gw',
    ]);
  });

  test.each([
    { args: ['--model', 'gemini/gemini-3-pro'] },
    { args: ['--weak-model=deepseek'] },
    { args: [], files: { '/work/.aider.conf.yml': 'model: openrouter/x # mine\n' } },
    { args: [], files: { '/home/me/.aider.conf.yml': 'set-env:\n  - ANTHROPIC_BASE_URL=https://x\n' } },
  ])('would go around gw: %j', (start) => {
    expect(pointAider(startOf(start)).bypass).toBeDefined();
  });

  test.each([
    ['--model', 'sonnet'],
    ['--model', 'openai/gpt-5.2'],
    ['--model', 'anthropic/claude-x'],
    ['--model', 'gpt-5.2'],
  ])('goes to gw: %s %s', (...args) => {
    expect(pointAider(startOf({ args })).bypass).toBeUndefined();
  });
});
