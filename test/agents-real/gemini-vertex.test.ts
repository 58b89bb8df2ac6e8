import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { realAgent } from './agents.ts';
import { start } from './programs.ts';
import { GW, IN_PROJECT, stageFor } from './stage.ts';

const OURS =
  /^\/v1\/projects\/ours\/locations\/global\/publishers\/google\/models\/[\w.-]+:(?:streamGenerateContent|generateContent|countTokens)/;
const VERTEX = { security: { auth: { selectedType: 'vertex-ai' } } };

/** Gemini CLI in the mode of Vertex AI, which its user's settings or the shell switch on. */
async function stageOf(source: 'user' | 'project' | 'shell') {
  const stage = await stageFor({
    ...realAgent('gemini'),
    files: (elsewhere) => ({
      ...(source === 'shell' ? {} : { [`${source === 'user' ? '' : 'work/'}.gemini/settings.json`]: VERTEX }),
      '.gemini/.env': `GOOGLE_VERTEX_BASE_URL=${elsewhere}\nGOOGLE_API_KEY=AIza-mine\n`,
    }),
  });
  const { url } = stage.gateway.upstream;
  stage.gateway.configure({
    providers: { gemini: { baseUrl: url }, vertex: { project: 'ours', baseUrl: new URL(url).origin } },
  });
  const shell = {
    GOOGLE_GENAI_USE_VERTEXAI: 'true',
    ...{ GOOGLE_CLOUD_PROJECT: 'mine', GOOGLE_CLOUD_LOCATION: 'us-central1' },
  };
  return { ...stage, env: { ...stage.env, ...(source === 'shell' ? shell : {}) } };
}

function mustBeOurs({ gateway, elsewhere, proxy }: Awaited<ReturnType<typeof stageOf>>) {
  expect(gateway.upstream.requests.map(({ path }) => path).filter((path) => !OURS.test(path))).toEqual([]);
  expect(gateway.upstream.requests.length).toBeGreaterThan(0);
  expect(elsewhere.seen).toEqual([]);
  expect(proxy.seen.filter((request) => /aiplatform|generativelanguage/.test(request))).toEqual([]);
}

test.each(['user', 'project', 'shell'] as const)(
  "gw run keeps Gemini CLI's mode of Vertex AI, set by the %s, and its requests reach the account",
  async (source) => {
    const stage = await stageOf(source);
    const words = [process.execPath, GW, 'run', ...IN_PROJECT, '--budget', '5', '--', stage.path];
    const inProject = ['-c', 'cd "$HOME/work" && exec "$0" "$@"', ...words, ...realAgent('gemini').args];
    const output = await start('/bin/sh', inProject, stage.env, stage.home).output;
    expect(output).toContain('Hello you');
    const records = await stage.gateway.records();
    expect(records).not.toEqual([]);
    for (const { provider, endpoint, outcome } of records)
      expect([provider, endpoint, outcome]).toEqual(['vertex', 'gemini', 'ok']);
    mustBeOurs(stage);
  },
);

test("gw connect keeps Gemini CLI's mode of Vertex AI, and proves it", async () => {
  const stage = await stageOf('user');
  const { path, env, home } = stage;
  const gw = (...words: string[]) =>
    start(process.execPath, [GW, ...words], { ...env, PATH: `${dirname(path)}:${process.env.PATH}` }, home);
  expect(await gw('connect', 'gemini', '--yes').output).toContain('its request came through gw');
  const asUser = { ...env, NO_PROXY: 'localhost,127.0.0.1', no_proxy: 'localhost,127.0.0.1' };
  const inProject = ['-c', 'cd "$HOME/work" && exec "$0" "$@"', path, ...realAgent('gemini').args];
  expect(await start('/bin/sh', inProject, asUser, home).output).toContain('Hello you');
  const records = await stage.gateway.records();
  expect(records.filter(({ provider }) => provider === 'vertex')).not.toEqual([]);
  expect(records.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  mustBeOurs(stage);
});
