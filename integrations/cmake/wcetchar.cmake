# Characterize a firmware, derive its section map and estimate, from CMake (3.20 or later).
#
#   include(.../wcetchar.cmake)
#   wcetchar_characterize(app MACHINE mps2-an385 SERVICES services.yaml)
#   wcetchar_estimate(app PROFILE cortex-m3/flash-3ws)
#
# then
#
#   cmake --build build --target app-wcet-characterize   # wcet/app.json
#   cmake --build build --target app-wcet-map            # wcet/app-map.yaml
#   cmake --build build --target app-wcet-estimate       # prints, and writes wcet/app-estimates.json
#   cmake --build build --target app-wcet-report         # wcet/app-report.html
#   cmake --build build --target app-wcet-check          # fails where a service takes more than BUDGET says
#
# Nothing of it is part of the default target. Files are made again when what they are made from has
# changed. WCETCHAR_EXECUTABLE names the program, where it is not found by itself.

include_guard(GLOBAL)

find_program(WCETCHAR_EXECUTABLE wcetchar DOC "The command line of wcetchar")
if(NOT WCETCHAR_EXECUTABLE)
    message(FATAL_ERROR "wcetchar.cmake: there is no program wcetchar on the path: install it with pip, or say where it "
        "is with -DWCETCHAR_EXECUTABLE=FILE")
endif()

# Sets `result` to the files among names and paths, and `options` to OPTION and value of each, paths from the
# source folder of the caller. A shipped name, such as cortex-m3/flash-3ws, is no file.
function(_wcetchar_inputs result options option)
    set(files "")
    set(words "")
    foreach(name IN LISTS ARGN)
        get_filename_component(path "${name}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
        get_source_file_property(generated "${path}" GENERATED)
        if(IS_ABSOLUTE "${name}" OR EXISTS "${path}" OR generated)
            list(APPEND files "${path}")
            list(APPEND words ${option} "${path}")
        else()
            list(APPEND words ${option} "${name}")
        endif()
    endforeach()
    set(${result} "${files}" PARENT_SCOPE)
    set(${options} "${words}" PARENT_SCOPE)
endfunction()

function(_wcetchar_check function)
    if(ARG_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${function}: unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
    endif()
    if(ARG_KEYWORDS_MISSING_VALUES)
        message(FATAL_ERROR "${function}: no value for ${ARG_KEYWORDS_MISSING_VALUES}")
    endif()
    foreach(needed IN LISTS ARGN)
        if(NOT ARG_${needed})
            message(FATAL_ERROR "${function}: ${needed} is missing")
        endif()
    endforeach()
endfunction()

# wcetchar_characterize(<target> MACHINE <machine> SERVICES <file>...
#                       [CAPTURE_OPTIONS <option>...] [OPTIONS <option>...] [OUTPUT <file>])
#
# The executable <target> is run in an emulator, and its trace characterized into OUTPUT, by default wcet/<target>.json
# in the binary folder.
function(wcetchar_characterize target)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "MACHINE;OUTPUT" "SERVICES;CAPTURE_OPTIONS;OPTIONS")
    _wcetchar_check(wcetchar_characterize MACHINE SERVICES)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/wcet")
    file(MAKE_DIRECTORY "${folder}")
    if(NOT ARG_OUTPUT)
        set(ARG_OUTPUT "${folder}/${target}.json")
    endif()
    get_filename_component(output "${ARG_OUTPUT}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
    _wcetchar_inputs(services words --services ${ARG_SERVICES})
    set(trace "${folder}/${target}.trace")
    add_custom_command(
        OUTPUT "${trace}"
        COMMAND "${WCETCHAR_EXECUTABLE}" capture "$<TARGET_FILE:${target}>" --machine ${ARG_MACHINE}
                ${ARG_CAPTURE_OPTIONS} -o "${trace}"
        DEPENDS ${target} "$<TARGET_FILE:${target}>"
        COMMENT "Capturing ${target}"
        VERBATIM)
    add_custom_command(
        OUTPUT "${output}"
        COMMAND "${WCETCHAR_EXECUTABLE}" characterize "$<TARGET_FILE:${target}>" "${trace}" ${words} --contents
                ${ARG_OPTIONS} -o "${output}"
        DEPENDS "${trace}" ${services}
        COMMENT "Characterizing ${target}"
        VERBATIM)
    add_custom_target(${target}-wcet-characterize DEPENDS "${output}")
    set_target_properties(${target} PROPERTIES
        WCETCHAR_CHARACTERIZATION "${output}" WCETCHAR_SERVICES "${words}")
endfunction()

# wcetchar_estimate(<target> PROFILE <name or file> [CHARACTERIZATION <name or file>]
#                   [MAP <name or file>] [SERVICES <file>...] [PLACES <section=region>...] [LINKER_MAP <file>]
#                   [OPTIONS <option>...] [BUDGET <file>] [CHECK_OPTIONS <option>...])
#
# Prices a characterization, by default the one that wcetchar_characterize(<target> ...) makes, for a profile. Without
# MAP the section map is derived from <target>; SERVICES, PLACES and LINKER_MAP are for that. OPTIONS are those of `wcetchar estimate`
# (--set N=13; --maximum if none is given). BUDGET is a budget file; services are held against it on this PROFILE and map, not
# on what the file names. CHECK_OPTIONS are those of `wcetchar check` (--baseline released.json).
function(wcetchar_estimate target)
    cmake_parse_arguments(PARSE_ARGV 1 ARG "" "PROFILE;CHARACTERIZATION;MAP;LINKER_MAP;BUDGET"
        "SERVICES;PLACES;OPTIONS;CHECK_OPTIONS")
    _wcetchar_check(wcetchar_estimate PROFILE)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/wcet")
    file(MAKE_DIRECTORY "${folder}")
    _wcetchar_inputs(services rules --services ${ARG_SERVICES})
    _wcetchar_inputs(linker_map linker_map_words --linker-map ${ARG_LINKER_MAP})
    _wcetchar_inputs(profile profile_words --profile "${ARG_PROFILE}")
    set(own "")
    if(ARG_CHARACTERIZATION)
        _wcetchar_inputs(characterization characterization_words "" "${ARG_CHARACTERIZATION}")
    else()
        get_target_property(characterization ${target} WCETCHAR_CHARACTERIZATION)
        if(NOT characterization)
            message(FATAL_ERROR "wcetchar_estimate: CHARACTERIZATION is missing; or call "
                "wcetchar_characterize(${target} ...) before")
        endif()
        set(characterization_words "${characterization}")
        set(own ${target}-wcet-characterize)
        if(NOT rules)
            get_target_property(rules ${target} WCETCHAR_SERVICES)
        endif()
    endif()
    if(ARG_MAP)
        _wcetchar_inputs(map map_words --map "${ARG_MAP}")
    else()
        set(map "${folder}/${target}-map.yaml")
        set(map_words --map "${map}")
        set(places "")
        foreach(place IN LISTS ARG_PLACES)
            list(APPEND places --place "${place}")
        endforeach()
        add_custom_command(
            OUTPUT "${map}"
            COMMAND "${WCETCHAR_EXECUTABLE}" map init "$<TARGET_FILE:${target}>"
                    --characterization ${characterization_words} ${profile_words} ${rules} ${linker_map_words}
                    ${places} -o "${map}"
            DEPENDS ${target} "$<TARGET_FILE:${target}>" ${own} ${characterization} ${profile} ${services}
                    ${linker_map}
            COMMENT "Deriving the section map of ${target}"
            VERBATIM)
        add_custom_target(${target}-wcet-map DEPENDS "${map}")
    endif()
    if(NOT ARG_OPTIONS)
        set(ARG_OPTIONS --maximum)
    endif()
    set(prices ${characterization_words} ${profile_words} ${map_words})
    add_custom_target(${target}-wcet-estimate
        COMMAND "${WCETCHAR_EXECUTABLE}" estimate ${prices} ${ARG_OPTIONS} --format json
                -o "${folder}/${target}-estimates.json"
        COMMAND "${WCETCHAR_EXECUTABLE}" estimate ${prices} ${ARG_OPTIONS} --format summary
        DEPENDS ${own} ${characterization} ${profile} ${map}
        USES_TERMINAL
        VERBATIM)
    set(report "${folder}/${target}-report.html")
    add_custom_command(
        OUTPUT "${report}"
        COMMAND "${WCETCHAR_EXECUTABLE}" report ${prices} -o "${report}"
        DEPENDS ${own} ${characterization} ${profile} ${map}
        COMMENT "Writing ${report}"
        VERBATIM)
    add_custom_target(${target}-wcet-report DEPENDS "${report}")
    if(ARG_BUDGET)
        get_filename_component(budget "${ARG_BUDGET}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_SOURCE_DIR}")
        add_custom_target(${target}-wcet-check
            COMMAND "${WCETCHAR_EXECUTABLE}" check ${prices} --budget "${budget}" ${ARG_CHECK_OPTIONS}
            DEPENDS ${own} ${characterization} ${profile} ${map} "${budget}"
            USES_TERMINAL
            VERBATIM)
    endif()
endfunction()
