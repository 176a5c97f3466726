#!/usr/bin/env bash
# Tests the deployment in a real AWS account: deploys the stack BrandReports-smoke beside whatever exists, checks the
# connection, syncs one day, counts its rows in Athena, and destroys everything again, also after a failure. The
# account's registry of test events stays.
# NOT run in CI. It costs cents and takes about ten minutes. Needs the AWS CLI 2 with credentials and a region, an
# account in which `npx cdk bootstrap` was run, and the brand's secret.
set -euo pipefail
usage='usage: bench/smoke.sh SETTINGS [BRAND [DAY [REPORT]]]; by default the first brand, the day before yesterday, order_list'
settings=$(realpath "${1:?$usage}")
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH"

stack=BrandReports-smoke
work=$(mktemp -d)
deployed=no
trap finish EXIT

# from_json FILE EXPRESSION: the value of the expression, in which the file's document is `json`
from_json() {
  node -p "const json = JSON.parse(require('node:fs').readFileSync(process.argv[1], 'utf8')); $2" "$1"
}
fail() {
  echo "smoke: $*" >&2
  exit 1
}
expect() {
  [ "$2" = "$3" ] || fail "$1 is \"$2\", not \"$3\""
}

# Settings that an environment cannot undo are removed: an adopted lake would be written to, and mail would be sent.
node -e '
  const [, from, to] = process.argv;
  const file = JSON.parse(require("node:fs").readFileSync(from, "utf8"));
  const { environments, ...settings } = file.context?.brandReports ?? file;
  const { tablePermissions = "iam" } = settings.deployment ?? {};
  settings.deployment = { tablePermissions, keepLake: false, schedules: false };
  require("node:fs").writeFileSync(to, JSON.stringify({ ...settings, environments: { smoke: {} } }));
' "$settings" "$work/settings.json"
brand=${2:-$(from_json "$work/settings.json" 'Object.keys(json.brands)[0]')}
day=${3:-$(node -p 'new Date(Date.now() - 2 * 86_400_000).toISOString().slice(0, 10)')}
report=${4:-order_list}
table=$(node -e 'import("./shared/reports/index.ts").then(({ reports }) => console.log(reports[process.argv[1]]?.table ?? ""))' "$report")
[ -n "$table" ] || fail "unknown report $report"
chosen=(-c "settings=$work/settings.json" -c environment=smoke)

finish() {
  local status=$?
  trap - EXIT
  if [ "$deployed" = yes ]; then
    echo "== destroy"
    npx cdk destroy --force "${chosen[@]}" "$stack" || status=1
    echo "== left behind"
    left_behind || status=1
  fi
  rm -rf "$work"
  [ "$status" = 0 ] && echo "smoke: passed" || echo "smoke: FAILED" >&2
  exit "$status"
}

# Removes the logs of CDK's own functions, which belong to no stack. Fails if anything else is left.
left_behind() {
  local found group
  for group in $(log_groups); do aws logs delete-log-group --log-group-name "$group"; done
  found=$({
    aws cloudformation list-stacks --output text \
      --query "StackSummaries[?StackName=='$stack' && StackStatus!='DELETE_COMPLETE'].StackName"
    aws s3api list-buckets --query "Buckets[?Name=='${bucket:-}'].Name" --output text
    aws glue get-databases --query "DatabaseList[?Name=='${database:-}'].Name" --output text
    log_groups
  } | tr '\t' '\n' | grep -vxF -e '' -e None || true)
  echo "${found:-nothing}"
  [ -z "$found" ]
}
log_groups() {
  aws logs describe-log-groups --log-group-name-prefix "/aws/lambda/$stack" --query 'logGroups[].logGroupName' --output text
}

# invoke EVENT: writes the function's answer to $work/answer.json
invoke() {
  aws lambda invoke --function-name "$stack-$report" --cli-binary-format raw-in-base64-out --cli-read-timeout 910 \
    --payload "$1" "$work/answer.json" >"$work/invocation.json"
  expect "the error of $stack-$report" "$(from_json "$work/invocation.json" 'json.FunctionError ?? "none"')" none
}

echo "== deploy to the account $(aws sts get-caller-identity --query Account --output text)"
deployed=yes
npx cdk deploy --require-approval never --outputs-file "$work/outputs.json" "${chosen[@]}" "$stack"
output() {
  from_json "$work/outputs.json" "Object.entries(json['$stack']).find(([key]) => key.startsWith('$1'))[1]"
}
database=$(output DatabaseName)
bucket=$(output LakeUrl)
bucket=${bucket#s3://}

echo "== check the connection of $brand"
invoke "{\"brand\": \"$brand\", \"check\": true}"
cat "$work/answer.json"
echo
expect 'the status of the check' "$(from_json "$work/answer.json" json.status)" ok

echo "== sync $report of $day"
for _ in 1 2 3 4 5; do
  invoke "{\"brand\": \"$brand\", \"from\": \"$day\", \"to\": \"$day\"}"
  cat "$work/answer.json"
  echo
  status=$(from_json "$work/answer.json" json.status)
  [ "$status" = incomplete ] || break
done
expect 'the status of the day' "$status" complete
rows=$(from_json "$work/answer.json" "json.reports[0].days.find(({ dt }) => dt === '$day').rows")

echo "== count in Athena"
query=$(aws athena start-query-execution --work-group "$stack" --query-execution-context "Database=$database" \
  --query-string "SELECT count(*) FROM $table WHERE brand = '$brand' AND dt = '$day'" --query QueryExecutionId --output text)
for _ in $(seq 60); do
  state=$(aws athena get-query-execution --query-execution-id "$query" --query QueryExecution.Status.State --output text)
  case $state in QUEUED | RUNNING) sleep 2 ;; *) break ;; esac
done
expect 'the state of the query' "$state" SUCCEEDED
counted=$(aws athena get-query-results --query-execution-id "$query" --query 'ResultSet.Rows[1].Data[0].VarCharValue' --output text)
expect 'the count in Athena' "$counted" "$rows"
echo "$counted rows in Athena, as the function said"
