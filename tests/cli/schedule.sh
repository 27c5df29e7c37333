#!/bin/bash
# ccltune schedule as people call it: the table, pages, pictures, text that round-trips, proofs, and
# schedules that are wrong in each way a schedule can be, refused by the fault's name. Prints TAP.
. "$(dirname "$0")/../lib.sh"

schedule() { run "$CCLTUNE" schedule "$@"; }

# picture NAME ARGUMENTS...: the picture of a schedule, less its legend, is what stands on standard input
picture() {
    local name=$1 wanted
    shift
    wanted=$(cat)
    schedule "$@" --draw
    if [ "$status" = 0 ] && [ "$(sed -n '/^round/,$p' "$work/out")" = "$wanted" ]; then
        result ok "$name"
    else
        result "not ok" "$name" "$ran: status $status
$(cat "$work/out" "$work/err")"
    fi
}

# refused NAME PATTERN: the last run ended with 2, said nothing but one line that has the pattern
refused() {
    if [ "$status" = 2 ] && [ ! -s "$work/out" ] && [ "$(wc -l <"$work/err")" = 1 ] &&
        grep -Eq -- "$2" "$work/err"; then
        result ok "$1"
    else
        result "not ok" "$1" "$ran: status $status, expected 2 and '$2'
$(cat "$work/out" "$work/err")"
    fi
}

# broken NAME PATTERN FILE: --check refuses the file, naming it and the fault
broken() {
    schedule --check "$3"
    refused "$1" "^ccltune schedule: $3:(.*[: ])?$2"
}

# ---- the table ----

schedule
expect "the table has every algorithm" 0 out '^ring ' out '^halving-doubling ' out '^nvls-tree '
expect "a ring of 8 has 14 rounds and sends 1.75 messages" 0 out '^ring +14/1\.75 '
expect "what cannot be served says why" 0 out '^  no: hierarchical needs a hierarchy.*--levels'
expect "the table has needs, order of summation and papers" 0 out '^one-shot +direct access' \
    out 'from the last position down to the root' out 'Rabenseifner'
schedule --levels 2x4
expect "with levels the hierarchy is there" 0 out '^hierarchical +14/1\.75'
schedule -n 7 --coll broadcast
expect "one collective, seven ranks" 0 out '^chain +6/1$' out '^ring +[0-9]+/[0-9.]+$'
schedule --format json
cp "$work/out" table.json
ok "JSON of the table is valid" valid_json table.json
ok "JSON has the counts" perl -MJSON::PP -0777 -e '
    my ($ring) = grep { $_->{algorithm} eq "ring" && $_->{collective} eq "allreduce" }
        @{decode_json(<>)};
    exit !($ring->{rounds} == 14 && $ring->{messages} == 112 && $ring->{most_sent_messages} == 1.75
        && $ring->{chunks_reduced} == 56 && !defined $ring->{why_not})' table.json
schedule --format csv
expect "CSV has a line for a row and collective" 0 out '^bruck,all-to-all,8,3,1\.5000,24,' \
    out '^hierarchical,allreduce,8,,,.*needs a hierarchy'

# ---- a page ----

schedule ring -n 4
expect "a page: where it comes from, shape and counts" 0 out '^  from .*Patarasuk' \
    out '^  rounds +6$' out '^  messages +24 in all' out '^  additions +12 ' out ': 1\.5 x the message'
expect "a page has the program" 0 out '^      step recv r-1 take in r store out r send r\+1 value$'
schedule pairwise
expect "without --coll the first collective that it serves" 0 out '^all-to-all on 8 ranks'
schedule hierarchical --levels 2x4
expect "a page shows one program of a role" 0 out '^  credit .*2 tokens from lane 1 to lane 0' \
    out '^  7 more differ'
schedule hierarchical --levels 2x2x2 --inner direct --outer tree --coll allreduce
expect "three levels, of other rows" 0 out 'on 8 ranks as 2x2x2'
schedule tree -n 100000
expect "a page of 100,000 ranks" 0 out '^  messages +199998 in all'
schedule ring --format json
expect "a page as JSON" 0 out '"rounds": 14,' out '"levels": null,'
ok "... which is valid" valid_json "$work/out"
schedule --help
expect "help teaches the words of the text form" 0 out 'step recv PEERS' out '--draw'

# ---- pictures ----

picture "a ring, drawn" ring -n 3 <<'END'
round  0          1          2
start  111        111        111
1      0 -c2-> 1  1 -c0-> 2  2 -c1-> 0
       121        112        211
2      0 -c1-> 1  1 -c2-> 2  2 -c0-> 0
       #21        1#2        21#
3      0 =c0=> 1  1 =c1=> 2  2 =c2=> 0
       #2#        ##2        2##
4      0 =c2=> 1  1 =c0=> 2  2 =c1=> 0
       ###        ###        ###

4 rounds, 12 messages
END
picture "halving-doubling, drawn" halving-doubling -n 4 <<'END'
round  0            1            2            3
start  1111         1111         1111         1111
1      0 -c2,3-> 2  1 -c2,3-> 3  2 -c0,1-> 0  3 -c0,1-> 1
       2211         2211         1122         1122
2      0 -c1-> 1    1 -c0-> 0    2 -c3-> 3    3 -c2-> 2
       #211         2#11         11#2         112#
3      0 =c0=> 1    1 =c1=> 0    2 =c2=> 3    3 =c3=> 2
       ##11         ##11         11##         11##
4      0 =c0,1=> 2  1 =c0,1=> 3  2 =c2,3=> 0  3 =c2,3=> 1
       ####         ####         ####         ####

4 rounds, 16 messages
END
picture "Bruck's all-to-all, drawn" bruck --coll all-to-all -n 4 <<'END'
round  0             1             2             3
start  #...          .#..          ..#.          ...#
1      0 =a1,3=> 1   1 =b0,2=> 2   2 =c1,3=> 3   3 =d0,2=> 0
       #..#          ##..          .##.          ..##
2      0 =a2,d2=> 2  1 =a3,b3=> 3  2 =b0,c0=> 0  3 =c1,d1=> 1
       ####          ####          ####          ####

2 rounds, 8 messages
END
picture "a hierarchy, drawn: few messages cross hosts" hierarchical --levels 2x2 --inner direct <<'END'
round  0          1         | 2          3
start  1111       1111      | 1111       1111
1      0 -c1-> 1  1 -c0-> 0 | 2 -c1-> 3  3 -c0-> 2
       2111       1211      | 2111       1211
2      0 -c3-> 1  1 -c2-> 0 | 2 -c3-> 3  3 -c2-> 2
       2121       1212      | 2121       1212
3      0 -c2-> 2  1 -c3-> 3 | 2 -c0-> 0  3 -c1-> 1
       #121       1#12      | 21#1       121#
4      0 =c0=> 2  1 =c1=> 3 | 2 =c2=> 0  3 =c3=> 1
       #1#1       1#1#      | #1#1       1#1#
5      0 =c0=> 1  1 =c1=> 0 | 2 =c0=> 3  3 =c1=> 2
       ###1       ##1#      | ###1       ##1#
6      0 =c2=> 1  1 =c3=> 0 | 2 =c2=> 3  3 =c3=> 2
       ####       ####      | ####       ####

6 rounds, 24 messages, 8 of them between hosts (|)
END
picture "one position has nothing to send" ring -n 1 <<'END'
round  0
start  #

0 rounds, 0 messages
END
schedule ring -n 16 --draw
expect "too wide for columns: a list" 0 out '^    0 -c15-> 1 ' out 'With fewer --ranks'
schedule ring -n 65 --draw
refused "a picture has at most 64 positions" '64 positions, not 65'

# Every row and collective: the picture has the rounds and messages of the counts (which were made by
# other code), and does not get stuck.
everything() { # ranks levels
    local algorithm collective rounds messages more levels
    "$CCLTUNE" schedule --levels "$2" --format csv | tail -n +2 | cut -d, -f1-4,6 >list
    while IFS=, read -r algorithm collective _ rounds messages; do
        [ -n "$rounds" ] || continue # with the reason in the table
        levels=--ranks=$1
        case $algorithm in hierarchical | nvls-tree) levels=--levels=$2 ;; esac
        "$CCLTUNE" schedule "$algorithm" --coll "$collective" "$levels" --draw >drawn ||
            echo "$algorithm $collective: status $?"
        "$CCLTUNE" schedule "$algorithm" --coll "$collective" "$levels" --check >proof || cat proof
        grep -q "^proven: $algorithm, $collective on $1 ranks, out of place" proof || cat proof
        "$CCLTUNE" schedule "$algorithm" --coll "$collective" "$levels" --dump >made.sched
        "$CCLTUNE" schedule --dump made.sched | cmp - made.sched
        more=$(tail -n 1 drawn)
        case $algorithm in
        nvls*) messages='[0-9]+' ;; # a group's message is drawn once a member
        esac
        [[ $more =~ ^$rounds\ rounds?,\ $messages\ messages ]] ||
            echo "$algorithm $collective: $more, counted $rounds and $messages"
    done <list
    [ "$(wc -l <list)" -ge 30 ] || echo "only $(wc -l <list) rows"
}
nothing_said() { # in a file
    cat "$1"
    [ ! -s "$1" ]
}
for shape in "1 1x1" "6 2x3" "7 1x7" "8 2x4"; do
    # shellcheck disable=SC2086 # two words
    everything $shape >said 2>&1
    ok "all rows on ${shape% *} ranks: drawn as counted, proven, round trip" nothing_said said
done

# ---- proofs ----

schedule ring --check
expect "a ring is proven in both forms, with chunks that fit the window" 0 \
    out '^proven: ring, allreduce on 8 ranks, out of place.*at most window - 1 slices' \
    out '^proven: ring, allreduce on 8 ranks, in place'
schedule halving-doubling -n 6 --check
expect "an exchange needs no room for its chunks" 0 out 'larger than the window'
schedule hierarchical --levels 2x4 --inner ring --outer halving-doubling --check --in-place
expect "a hierarchy of other rows is proven" 0 out '^proven: hierarchical.*in place'
schedule pairwise --check
expect "without a form in place there is one proof" 0 out '^proven: pairwise'

cat >star.sched <<'END'
ccltune schedule 1
name star
collective allreduce
ranks 4
chunks 1
lanes 1

position 0          # adds up what all others send, and sends the sum back
  lane 0
    step recv 1 count 3 take in 0 store out 0 send 1 count 3 value

position 1-3
  lane 0
    step recv 0 store out 0 send 0 in 0
END
schedule --check star.sched
expect "a schedule written by hand is proven" 0 out '^proven: star, allreduce on 4 ranks'
schedule star.sched
expect "... and has a page" 0 out '^star \(from a file\)' out '^  rounds +2$'
picture "... and a picture" star.sched <<'END'
round  0             1             2             3
start  1             1             1             1
1                    1 -c0-> 0     2 -c0-> 0     3 -c0-> 0
       #             1             1             1
2      0 =c0=> 1..3
       #             #             #             #

2 rounds, 6 messages
END

# ---- plans ----

schedule ring --plan
expect "a plan: operations by lane" 0 out '^plan: 1 lane, [0-9]+ operations' out '^lane 0$' out ' combine '
head -n 1 "$work/out" >small
schedule ring -n 4096 --plan
head -n 1 "$work/out" >large
expect "a plan of 4,096 ranks" 0 out '^plan: 1 lane'
ok "... is as large as one of 8" cmp small large
schedule star.sched --plan
expect "a plan of a file" 0 out '^plan: 1 lane'
schedule nvls --plan
refused "what CPU ranks cannot execute has no plan" 'group peer'

# ---- schedules that are wrong ----

"$CCLTUNE" schedule ring -n 4 --dump >ring.sched
edit() { # FROM-FILE SED: into edited.sched, which must differ
    sed "$2" "$1" >edited.sched
    ! cmp -s "$1" edited.sched || result "not ok" "the edit '$2' of $1 changes nothing"
}

edit star.sched 's/ send 0 in 0//'
broken "a missing send is refused" \
    'unmatched message: position 0 lane 0 step 1 .*receives from position 1 lane 0' edited.sched
edit star.sched 's/send 1 count 3 value/send 1 count 2 value/'
broken "a missing receiver is refused" \
    'unmatched message: position 3 lane 0 step 1 .*receives from position 0' edited.sched
edit star.sched 's/    step recv 1 count 3.*/    step recv 1 count 3 take in 0 store out 0\
    step take out 0 store out 0 recv 0 send 0 in 0\
    step send 1 count 3 out 0/'
sed -i 's/step take out 0 store out 0 recv 0 send/step recv 0 take out 0 store out 0 send/' edited.sched
broken "a double reduction is refused" \
    'wrong result: out chunk 0 .*position 0 .*holds' edited.sched
edit ring.sched 's/take in r store/take in r+1 store/'
broken "sums of the wrong chunks are refused" 'wrong result: out chunk 0 ' edited.sched
edit star.sched 's/step recv 0 store out 0 send 0 in 0/step recv 0 store out 0\
    step send 0 in 0/'
broken "a deadlock is refused" \
    'deadlock: position 0 lane 0 step 1 .*waits for a slice from position [123] lane 0' edited.sched
schedule edited.sched --draw
expect "... and drawn as far as it gets" 2 out 'then it is stuck' err 'deadlock'
"$CCLTUNE" schedule one-shot -n 3 --in-place --dump |
    sed 's/store scratch 0/store out 0/; /take scratch/d; /^scratch/d; /^copies/d' >race.sched
broken "a race is refused" \
    'race: out chunk 0 .*position 0 lane 0 step 1 .*writes it, position [12] lane 0 step 1 .*reads' \
    race.sched
"$CCLTUNE" schedule hierarchical --levels 2x2 --dump | sed 's/tokens 2/tokens 3/' >overrun.sched
broken "an overrun is refused" \
    'overrun: scratch chunk .*position [0-3] lane 0 step [0-9]+ .*this copy of scratch is not free' \
    overrun.sched
edit star.sched 's/store out 0 send 0/store scratch 0 send 0/; s/^lanes 1/scratch 1\n&/'
broken "an output that is never written is refused" \
    'wrong result: out chunk 0 .*position 1 ' edited.sched
edit star.sched 's/step recv 1 count 3 take in 0/step recv 1 count 3 take out 0/'
broken "reading what was never written is refused" \
    'uninitialised chunk: out chunk 0 .*position 0 lane 0 step 1 ' edited.sched

edit ring.sched 's/repeat 2/repeat 4000000000/'
broken "an endless repeat is refused by its place" '[0-9]+:[0-9]+: repeat: expected' \
    edited.sched
edit ring.sched 's/repeat 2/repeat 9000000/'
broken "a repeat that no check can end is refused" \
    'malformed schedule: position 0 lane 0 step [0-9]+: it is repeated' edited.sched
edit ring.sched 's/ranks 4/ranks 1000000000/'
broken "a billion ranks in a file are refused" 'ranks: expected .*1000000000' edited.sched
edit ring.sched 's/position 0-3/position 0-2/'
broken "a position without a program is refused" 'position 3' edited.sched
edit star.sched 's/send 1 count 3 value/send 1 count 3 valeu/'
broken "a misspelt word is refused by its place" "10:[0-9]+: unknown .*'valeu'" edited.sched
edit star.sched 's/recv 0 store/recv 0 lane 1 store/'
broken "a lane that is not there is refused" 'lane' edited.sched
: >empty.sched
broken "an empty file is refused" '[01]:1: .*first line' empty.sched
head -c 200000 /dev/urandom >noise.sched
broken "noise is refused" '1:[0-9]+: ' noise.sched
broken "a missing file is refused" 'cannot read' missing.sched
edit star.sched 's/send 0 in 0/send 9 base 4 in 0/'
for view in --draw --plan ""; do
    # shellcheck disable=SC2086 # none is no argument
    schedule edited.sched $view
    refused "a malformed file is not walked through${view:+ by $view}" '14:[0-9]+: this reaches positions 4 to'
done

# ---- options that are wrong ----

schedule rnig --draw
refused "an unknown algorithm" "unknown algorithm 'rnig'"
schedule rings
refused "... with the nearest" "did you mean 'ring'"
schedule ring --coll all-to-all
refused "a collective that it does not serve" 'ring has no all-to-all: it is for allreduce'
schedule doubling --coll all-gather -n 6
refused "a number of ranks that it does not serve" 'power of two.*not 6'
schedule hierarchical --levels 3x3 -n 8
refused "levels and ranks that disagree" '9 ranks together, the group 8'
schedule hierarchical --levels 2by4
refused "levels that are none" 'levels 2by4: expected hosts x ranks'
schedule hierarchical --levels 2x4 --inner tree
refused "an inner row that cannot be one" "'tree' cannot be the inner row"
schedule pairwise --in-place
refused "no form in place" 'no form in place'
for ranks in 0 1000000000 99999999999999999999 -4 eight 4x; do
    schedule ring "--ranks=$ranks"
    refused "--ranks $ranks" 'ranks'
done
schedule --ranks 1000000000
refused "a table of a billion ranks" '1000000000 ranks'
schedule ring --draw --check
refused "two views" 'expected one of'
schedule --draw
refused "a view of nothing" 'expected an algorithm'
schedule ring tree
refused "two algorithms" "second: 'tree'"
schedule ring --draw --format json
refused "a picture as JSON" '--format json is for the table'
schedule star.sched --ranks 4
refused "a file says its ranks itself" 'star.sched itself says'

finish
