import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { pointContinue } from '../../../src/agents/connect/continue.ts';
import { FOLDER, KEY, ORIGIN, startOf } from './start-of.ts';

const FILE = '/home/me/.continue/config.yaml';
const YAML = `name: mine
rules: [be kind]
models:
  - {name: a, provider: openai, model: gpt-5.2, apiBase: https://x, apiKey: sk-mine}
  - {name: b, provider: anthropic, model: claude-x}
  - {name: c, provider: ollama, model: llama}
`;

test("Continue gets the user's assistant with gw's address in each covered model", () => {
  const { args, env, files, notes } = pointContinue(startOf({ args: ['-p', 'hi'], files: { [FILE]: YAML } }));
  expect(args).toEqual(['--config', `${FOLDER}/continue.yaml`, '-p', 'hi']);
  expect(env).toEqual({ GW_RUN_KEY: KEY });
  const apiKey = '$' + '{{ secrets.GW_RUN_KEY }}';
  expect(parse(files?.['continue.yaml'] ?? '')).toEqual({
    name: 'mine',
    version: '1.0.0',
    schema: 'v1',
    rules: ['be kind'],
    models: [
      { name: 'a', provider: 'openai', model: 'gpt-5.2', apiBase: `${ORIGIN}/v1`, apiKey },
      { name: 'b', provider: 'anthropic', model: 'claude-x', apiBase: `${ORIGIN}/v1/`, apiKey },
    ],
  });
  expect(notes).toEqual([`1 of 3 models in ${FILE} are off: not through gw`]);
});

test("reads the user's --config file, and refuses an assistant of the hub", () => {
  const start = startOf({ args: ['--config', 'mine.yaml', 'hi'], files: { '/work/mine.yaml': YAML } });
  expect(pointContinue(start).args).toEqual(['--config', `${FOLDER}/continue.yaml`, 'hi']);
  const hub = pointContinue(startOf({ args: ['--config', 'acme/coder', 'hi'] }));
  expect(hub.bypass?.reason).toBe("acme/coder is read from Continue's hub, with addresses of its own");
});

test.each(['', 'models: []', 'models: [{name: c, provider: ollama, model: llama}]'])(
  'says what to add to a file without a covered model: %j',
  (text) => {
    expect(() => pointContinue(startOf({ files: { [FILE]: text } }))).toThrow(/Add one under models:/);
  },
);
