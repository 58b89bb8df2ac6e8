import type { WebhookFormat } from '../../store/webhooks/endpoints.ts';

const DISCORD_HOST = /^(ptb\.|canary\.)?discord(app)?\.com$/;
const DISCORD_PATH = /^\/api(\/v\d+)?\/webhooks\/\d+\/[\w-]+\/?$/;
const SLACK_PATH = /^\/services\/T\w+\/B\w+\/\w+$/;
const TEAMS_HOST = /\.environment\.api\.powerplatform\.com$/;
const TEAMS_PATH = /\/workflows\/[^/]+\/triggers\/manual\/paths\/invoke$/;
const NTFY_PATH = /^\/[\w-]{1,64}\/?$/;
const GOOGLE_PATH = /^\/v1\/spaces\/[^/]+\/messages$/;

/** Recognises a chat's incoming webhook by exact host and path; else `json`, as for self-hosted Mattermost and ntfy. */
export function recogniseFormat(url: URL): WebhookFormat {
  if (url.protocol !== 'https:') return 'json';
  const { hostname, pathname, searchParams } = url;
  if (hostname === 'hooks.slack.com' && SLACK_PATH.test(pathname)) return 'slack';
  if (hostname === 'ntfy.sh' && NTFY_PATH.test(pathname)) return 'ntfy';
  if (DISCORD_HOST.test(hostname) && DISCORD_PATH.test(pathname)) return 'discord';
  if (TEAMS_HOST.test(hostname) && TEAMS_PATH.test(pathname) && searchParams.has('sig')) return 'teams';
  if (hostname === 'chat.googleapis.com' && GOOGLE_PATH.test(pathname))
    return searchParams.has('key') && searchParams.has('token') ? 'google-chat' : 'json';
  return 'json';
}

/** Whether a URL is an Office 365 connector, which Microsoft has retired. */
export function isRetiredTeamsUrl(url: URL): boolean {
  return /(^|\.)webhook\.office\.com$/.test(url.hostname) || isOldOutlook(url);
}

function isOldOutlook({ hostname, pathname }: URL): boolean {
  return /^outlook\.office(365)?\.com$/.test(hostname) && pathname.startsWith('/webhook/');
}

/** Hosts whose webhook URLs are bearer secrets, in any format. */
const BEARER_HOSTS =
  /^(hooks\.slack\.com|ntfy\.sh|(ptb\.|canary\.)?discord(app)?\.com|chat\.googleapis\.com)$/;

/** The URL for display. A chat's URL is secret: everything except its origin and last four characters is masked. */
export function maskUrl(text: string, format: WebhookFormat): string {
  const url = new URL(text);
  const secret = format !== 'json' || BEARER_HOSTS.test(url.hostname) || TEAMS_HOST.test(url.hostname);
  return secret ? `${url.origin}/...${text.slice(-4)}` : text;
}
