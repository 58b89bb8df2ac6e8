import { describe, expect, test } from 'vitest';
import { readSecrets } from '../../../src/config/secrets.ts';
import { cliHome, commandLineOf } from '../../cli/cli-home.ts';
import { json, modelList } from '../../support/scripts.ts';
import { createVirtualClock } from '../../support/virtual-clock.ts';
import { messageBody, text } from '../../wire/support/messages-shapes.ts';
import { awsProfile, isSignedBy } from './support/aws.ts';
import { startClouds } from './support/clouds.ts';

const ANNA = { id: 'AKIDANNA', secret: 'secret-anna', token: 'token-anna' };

describe('gw providers add', () => {
  test.each([
    {
      args: ['bedrock', '--region', 'eu-central-1', '--key-env', 'AWS_BEARER_TOKEN_BEDROCK'],
      address: 'https://bedrock-runtime.eu-central-1.amazonaws.com/openai/v1',
    },
    {
      args: ['bedrock', '--region', 'us-east-1', '--profile', 'work', '--surface', 'mantle'],
      address: 'https://bedrock-mantle.us-east-1.api.aws/v1',
    },
    {
      args: ['mine', '--kind', 'bedrock', '--region', 'cn-north-1'],
      address: 'https://bedrock-runtime.cn-north-1.amazonaws.com.cn/openai/v1',
    },
    {
      args: ['bedrock', '--region', 'us-gov-west-1', '--key-env', 'AWS_BEARER_TOKEN_BEDROCK'],
      address: 'https://bedrock-runtime.us-gov-west-1.amazonaws.com/openai/v1',
    },
    {
      args: ['bedrock', '--region', 'eusc-de-east-1', '--key-env', 'AWS_BEARER_TOKEN_BEDROCK'],
      address: 'https://bedrock-runtime.eusc-de-east-1.amazonaws.eu/openai/v1',
    },
    {
      // Google's sovereign clouds have domains of their own.
      args: [
        'vertex',
        '--project',
        'p',
        '--region',
        'u-france-east1',
        '--base-url',
        'https://vertex.example.fr',
      ],
      address: 'https://vertex.example.fr/v1/projects/p/locations/u-france-east1/endpoints/openapi',
    },
    {
      args: ['vertex', '--project', 'p'],
      address: 'https://aiplatform.googleapis.com/v1/projects/p/locations/global/endpoints/openapi',
    },
    {
      args: ['vertex', '--project', 'p', '--region', 'eu'],
      address: 'https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/endpoints/openapi',
    },
    {
      args: ['vertex', '--key-env', 'GOOGLE_API_KEY'],
      address: 'https://aiplatform.googleapis.com/v1/publishers/google',
    },
    {
      args: [
        'azure',
        '--resource',
        'shop',
        '--deployment',
        'prod=gpt-5.4',
        'zone=gpt-5.4,datazone',
        '--entra',
      ],
      address: 'https://shop.openai.azure.com/openai/v1',
    },
  ])('$args', async ({ args, address }) => {
    const cli = cliHome();
    Object.assign(cli.env, { AWS_BEARER_TOKEN_BEDROCK: 'key', GOOGLE_API_KEY: 'AQ.key' });
    const { code, stderr } = await cli.run(['providers', 'add', ...args]);
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const { providers } = await cli.json<{ providers: object[] }>(['providers', 'list']);
    expect(providers).toContainEqual(expect.objectContaining({ name: args[0], base_url: address }));
    expect(readSecrets(cli.paths.credentials)).toEqual({});
  });

  test.each([
    { args: ['bedrock'], message: '--region' },
    { args: ['vertex'], message: '--project' },
    { args: ['vertex', '--region', 'eu', '--key-env', 'K'], message: '--project' },
    { args: ['azure', '--entra'], message: '--resource' },
    { args: ['openai', '--region', 'eu'], message: '--region is no option of openai' },
    { args: ['azure', '--resource', 'a/b', '--entra'], message: 'a/b' },
    { args: ['azure', '--resource', 'a', '--entra', '--deployment', 'prod'], message: 'NAME=MODEL' },
    { args: ['azure', '--resource', 'a', '--entra', '--deployment', 'prod=gpt-5.4,cheap'], message: 'cheap' },
    { args: ['bedrock', '--region', 'eu-west-1', '--profile', 'p', '--key-env', 'K'], message: '--profile' },
  ])('refuses $args', async ({ args, message }) => {
    const { code, stderr } = await cliHome().run(['providers', 'add', ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

test('gw providers test sends signed requests, and show has the source of credentials and their end', async () => {
  const profile = awsProfile('work');
  profile.write(ANNA, '2099-01-01T00:00:00Z');
  const gateway = await startClouds({ bedrock: { region: 'eu-west-1', profile: 'work' } });
  gateway.upstream.models(modelList(['anthropic.claude-opus-4-8']));
  gateway.upstream.script(json(200, messageBody([text('OK')])));
  const cli = commandLineOf(gateway, 'locally', createVirtualClock(Date.now()));
  const [result] = await cli.json<object[]>([
    ...['providers', 'test', 'bedrock', '--model', 'global.anthropic.claude-opus-4-8'],
  ]);
  expect(result).toMatchObject({
    ok: true,
    requests: [{ ok: true, api: 'messages', cost_usd: (20 * 5 + 5 * 25) / 1e6 }],
  });
  const [list] = gateway.upstream.modelRequests;
  expect(list && (await isSignedBy(list, ANNA, { region: 'eu-west-1', service: 'bedrock' }))).toBe(true);

  const shown = await cli.run(['providers', 'show', 'bedrock', '--json']);
  expect(JSON.parse(shown.stdout)).toMatchObject({
    name: 'bedrock',
    kind: 'bedrock',
    credential: { source: 'AWS profile work', expires_at: '2099-01-01T00:00:00.000Z' },
    apis: ['chat', 'responses', 'messages'],
    prices_of: 'bedrock',
  });
  for (const secret of [ANNA.id, ANNA.secret, ANNA.token]) expect(shown.stdout).not.toContain(secret);
});
