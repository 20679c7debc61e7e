#!/bin/sh
# Whether Grafana's own types accept monitoring/grafana-dashboard.json: @grafana/schema and TypeScript from npm, in a
# temporary folder. Needs the network and npm; exit 0 if the dashboard fits.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund "@grafana/schema@${1:-11.2.0}" typescript@5.4
{
  echo "import type { Dashboard } from '@grafana/schema/dist/esm/raw/dashboard/x/dashboard_types.gen';"
  printf 'export const dashboard: Dashboard = '
  cat "$here/monitoring/grafana-dashboard.json"
} > check.ts
npx tsc --noEmit --strict --skipLibCheck --moduleResolution bundler --module esnext --target es2020 check.ts
echo "the dashboard fits Grafana's types"
