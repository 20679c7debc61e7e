// Where the pages' data come from: the server, or in an export the files beside the page.

interface Exported { made: string; answers: Record<string, string>; about: string; }
declare global {
  interface Window {
    warpmark_export?: Exported;
    warpmark_answer?: (name: string, document: unknown) => void;
  }
}

export class Problem extends Error {
  constructor(readonly what: string, readonly hint: string, readonly passing = false) { super(what); }
}

/** In an export: what it holds; its page loads data/index.js before this. */
export const exported = (): Exported|undefined => window.warpmark_export;

function load_script(source: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = () => { script.remove(); resolve(); };
    script.onerror = () => { script.remove(); reject(new Problem(source + " is missing from this export", "")); };
    document.head.append(script);
  });
}

/** A file beside the page; never with the name and password that the page's own address may have. */
export const auxiliary = (name: string): string => location.origin + location.pathname.replace(/[^/]*$/, "") + name;

const loaded = new Map<string, unknown>();
async function from_files(name: string): Promise<unknown> {
  const file = exported()!.answers[name];
  if (file === undefined) throw new Problem("this is not part of the export", "ask the dashboard itself, or export more");
  if (!loaded.has(file)) {
    window.warpmark_answer = (key, document) => { loaded.set(key, document); };
    await load_script("data/" + file + ".js");
  }
  return loaded.get(file);
}

export type Params = Record<string, string|number|undefined>;

/** "series?a=1&b=2", in one order, so that an export finds it again. */
export function name_of(what: string, params: Params): string {
  const query = new URLSearchParams();
  for (const key of Object.keys(params).sort()) {
    const value = params[key];
    if (value !== undefined && value !== "") query.set(key, String(value));
  }
  const all = query.toString();
  return what + (all ? "?" + all : "");
}

export async function ask<Document>(what: string, params: Params = {}, signal?: AbortSignal): Promise<Document> {
  const name = name_of(what, params);
  if (exported()) return await from_files(name) as Document;
  let response: Response;
  try {
    response = await fetch(auxiliary("api/" + name), {signal, headers: {Accept: "application/json"}});
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem("The dashboard does not answer.", "It may have been ended, or the network is down.", true);
  }
  if (response.status === 401) throw new Problem("A token is needed.", "Reload the page and give it as the password.");
  const document = await response.json().catch(() => null);
  if (response.ok && document) return document as Document;
  const error = document?.error ?? {what: "The dashboard answered " + response.status + ".", hint: ""};
  throw new Problem(error.what, error.hint, response.status === 503);
}
