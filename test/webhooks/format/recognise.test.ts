import { describe, expect, it } from 'vitest';
import { isRetiredTeamsUrl, maskUrl, recogniseFormat } from '../../../src/webhooks/format/recognise.ts';

const TEAMS =
  'https://default0123.45.environment.api.powerplatform.com:443/powerautomate/automations/direct/workflows/0a1b/triggers/manual/paths/invoke';

describe('recogniseFormat()', () => {
  it.each([
    ['https://hooks.slack.com/services/T012AB3CD/B045EF6GH/abcdefghijklmnopqrstuvwx', 'slack'],
    ['https://hooks.slack.com/triggers/T012AB3CD/123/abc', 'json'],
    ['https://hooks.slack.com/workflows/T012AB3CD/A012/123/abc', 'json'],
    ['http://hooks.slack.com/services/T012AB3CD/B045EF6GH/abc', 'json'],
    ['https://hooks.slack.com.evil.example/services/T012AB3CD/B045EF6GH/abc', 'json'],
    ['https://evil.example/hooks.slack.com/services/T012AB3CD/B045EF6GH/abc', 'json'],
    ['https://discord.com/api/webhooks/123456789/abc-DEF_ghi', 'discord'],
    ['https://discordapp.com/api/v10/webhooks/123456789/abc', 'discord'],
    ['https://ptb.discord.com/api/webhooks/123456789/abc?wait=true', 'discord'],
    ['https://canary.discord.com/api/webhooks/123456789/abc', 'discord'],
    ['https://discord.com/api/webhooks/123456789/abc/slack', 'json'],
    ['https://discord.com/api/webhooks/123456789/abc/github', 'json'],
    ['https://notdiscord.com/api/webhooks/123456789/abc', 'json'],
    [`${TEAMS}?api-version=1&sp=x&sv=1.0&sig=abc`, 'teams'],
    [`${TEAMS}?api-version=1`, 'json'],
    [`${TEAMS.replace('/invoke', '/other')}?sig=abc`, 'json'],
    [`${TEAMS.replace('powerplatform.com', 'powerplatform.com.evil.example')}?sig=abc`, 'json'],
    ['https://chat.googleapis.com/v1/spaces/AAAA/messages?key=k&token=t', 'google-chat'],
    ['https://chat.googleapis.com/v1/spaces/AAAA/messages?key=k', 'json'],
    ['https://chat.googleapis.com/v1/spaces/AAAA?key=k&token=t', 'json'],
    ['https://evil.example/v1/spaces/AAAA/messages?key=k&token=t', 'json'],
    ['https://chat.example/hooks/abcdefghijklmnopqrstuvwxyz', 'json'],
    ['https://ntfy.sh/my-gw_alerts', 'ntfy'],
    ['https://ntfy.sh/', 'json'],
    ['https://ntfy.sh/topic/json', 'json'],
    ['http://ntfy.sh/topic', 'json'],
    ['https://ntfy.sh.evil.example/topic', 'json'],
    ['http://localhost:3000/webhook', 'json'],
  ])('takes %s for %s', (url, expected) => {
    expect(recogniseFormat(new URL(url))).toBe(expected);
  });
});

describe('isRetiredTeamsUrl()', () => {
  it.each([
    ['https://contoso.webhook.office.com/webhookb2/x/IncomingWebhook/y/z', true],
    ['https://outlook.office.com/webhook/x/IncomingWebhook/y/z', true],
    ['https://outlook.office.com/mail', false],
    ['https://evil.example/webhook/x/IncomingWebhook/y/z', false],
    ['https://webhook.office.com.example/x', false],
    [TEAMS, false],
  ])('says of %s: %s', (url, expected) => {
    expect(isRetiredTeamsUrl(new URL(url))).toBe(expected);
  });
});

describe('maskUrl()', () => {
  it('hides what lets anyone post, and shows what does not', () => {
    const slack = 'https://hooks.slack.com/services/T012AB3CD/B045EF6GH/abcdefgh1234';
    expect(maskUrl(slack, 'slack')).toBe('https://hooks.slack.com/...1234');
    expect(maskUrl(slack, 'json')).toBe('https://hooks.slack.com/...1234');
    expect(maskUrl('https://chat.example/hooks/abcdefghij', 'mattermost')).toBe(
      'https://chat.example/...ghij',
    );
    expect(maskUrl('https://ntfy.sh/my-alerts', 'ntfy')).toBe('https://ntfy.sh/...erts');
    expect(maskUrl(`${TEAMS}?sig=secret`, 'json')).not.toContain('workflows');
    expect(maskUrl('http://localhost:3000/webhook', 'json')).toBe('http://localhost:3000/webhook');
  });
});
